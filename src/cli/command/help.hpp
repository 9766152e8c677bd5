// The same description, told in the forms that people look it up in.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "command/command.hpp"

namespace perdure::cli {

/// "-o, --output FILE".
[[nodiscard]] std::string option_text(const Option& option);
/// All of them, in order.
[[nodiscard]] std::vector<Exit> exits_of(const Command& command);

/// What `perdure help` says: all commands, a line each.
[[nodiscard]] std::string overview(const std::vector<Command>& table);
/// What `perdure help VERB` says.
[[nodiscard]] std::string help_of(const Command& command);
/// A page of docs/reference/cli.
[[nodiscard]] std::string markdown_of(const Command& command);
[[nodiscard]] std::string markdown_index(const std::vector<Command>& table);
/// perdure-VERB(1), and perdure(1), as man reads them.
[[nodiscard]] std::string man_of(const Command& command);
[[nodiscard]] std::string man_index(const std::vector<Command>& table);
/// A script for bash, zsh or fish.
[[nodiscard]] std::string completion_for(std::string_view shell);

}  // namespace perdure::cli
