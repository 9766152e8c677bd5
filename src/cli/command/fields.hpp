// Which members of a list's items --fields asks for.

#pragma once

#include <string>
#include <vector>

#include "command/command.hpp"
#include "perdure/core/error.hpp"

namespace perdure::cli {

/// In the order they were asked for; empty: all.
/// Fails: `invalid_argument` for a member that the command's items do not have, and names those they
/// have; for a command that prints no list, or not as JSON.
[[nodiscard]] Result<std::vector<std::string>> fields_of(const Invocation& given);

}  // namespace perdure::cli
