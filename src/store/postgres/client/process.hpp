// Which process a worker is, in words that another process of the same machine can check.
//
// Boot, pid namespace, pid and the moment it started name one process for ever: a pid that is
// used again started later. Elsewhere the words say nothing.

#pragma once

#include <string>
#include <string_view>

namespace perdure::postgres {

/// "boot:namespace:pid:start" of this process; empty where the system does not tell.
[[nodiscard]] std::string own_process();

/// "boot:namespace:", as the names of all processes begin that can be checked here.
[[nodiscard]] std::string_view own_machine();

/// Whether the process is known to have ended. False also where that cannot be determined.
[[nodiscard]] bool has_ended(std::string_view process);

}  // namespace perdure::postgres
