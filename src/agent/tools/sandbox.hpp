// A command in bubblewrap: what it sees of the machine, and what it may write.

#pragma once

#include <string>
#include <vector>

#include "perdure/agent/shell_tool.hpp"

namespace perdure {

/// bubblewrap and its arguments, then the command. `bubblewrap` is a whole path, and so are the
/// roots, which no link leads to. Hidden paths that
/// are not there now are not hidden: StandIns see to it that they are.
[[nodiscard]] std::vector<std::string> sandboxed(const ShellSpec& spec,
                                                 const std::string& bubblewrap,
                                                 const std::vector<std::string>& command);

}  // namespace perdure
