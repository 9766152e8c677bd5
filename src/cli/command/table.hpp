// All commands, in the order in which help lists them. A verb is a file of verbs/ with a function
// that describes it, and a line here and in table.cpp.

#pragma once

#include <string_view>
#include <vector>

#include "command/command.hpp"

namespace perdure::cli {

[[nodiscard]] const std::vector<Command>& commands();
[[nodiscard]] const Command* find_command(std::string_view name);

[[nodiscard]] Command sessions_command();
[[nodiscard]] Command show_command();
[[nodiscard]] Command config_command();
[[nodiscard]] Command completion_command();
[[nodiscard]] Command complete_command();
[[nodiscard]] Command reference_command();
[[nodiscard]] Command version_command();
[[nodiscard]] Command help_command();

}  // namespace perdure::cli
