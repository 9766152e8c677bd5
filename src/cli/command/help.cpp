// Help on a terminal.

#include "command/help.hpp"

#include <algorithm>
#include <cstddef>
#include <fmt/format.h>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "command/command.hpp"
#include "exit.hpp"
#include "screen/text.hpp"

namespace perdure::cli {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

std::string two_columns(const Pairs& lines) {
  std::size_t widest = 0;
  for (const auto& [left, right] : lines) widest = std::max(widest, width_of(left));
  std::string text;
  for (const auto& [left, right] : lines) {
    text += fmt::format("  {}{}  {}\n", left, std::string(widest - width_of(left), ' '), right);
  }
  return text;
}

std::string options_text(const std::vector<Option>& options) {
  Pairs lines;
  for (const Option& option : options) {
    lines.emplace_back(option_text(option), std::string(option.summary));
  }
  return two_columns(lines);
}

std::string exits_text(const Command& command) {
  Pairs lines;
  for (const Exit exit : exits_of(command)) {
    lines.emplace_back(std::to_string(std::to_underlying(exit)), std::string(meaning_of(exit)));
  }
  return two_columns(lines);
}

}  // namespace

std::string option_text(const Option& option) {
  const std::string letter = option.letter != '\0' ? fmt::format("-{}, ", option.letter) : "";
  const std::string value = option.value.empty() ? "" : fmt::format(" {}", option.value);
  return fmt::format("{}--{}{}", letter, option.name, value);
}

std::vector<Exit> exits_of(const Command& command) {
  std::set<Exit> exits = {Exit::done, Exit::failed, Exit::usage};
  if (command.opens_store) {
    exits.insert(
        {Exit::not_found, Exit::not_authorised, Exit::in_use, Exit::damaged, Exit::unsupported});
  }
  exits.insert(command.exits.begin(), command.exits.end());
  return {exits.begin(), exits.end()};
}

std::string overview(const std::vector<Command>& table) {
  Pairs lines;
  for (const Command& command : table) {
    if (!command.is_hidden)
      lines.emplace_back(std::string(command.name), std::string(command.summary));
  }
  return fmt::format(
      "perdure: agents that cannot be lost.\n\nusage: perdure COMMAND [ARGUMENT…] [OPTION…]\n\n"
      "commands:\n{}\noptions of every command:\n{}\n"
      "A session is named by its id, the beginning of it, its title, or @last; a point of it by "
      "SES@v3\n"
      "(version), SES@2 (after turn 2), SES@2.1 (after a step of it).  More: perdure help "
      "COMMAND\n",
      two_columns(lines), options_text(global_options()));
}

std::string help_of(const Command& command) {
  std::string text = fmt::format("{}.\n\nusage: {}\n", command.summary, usage_of(command));
  if (!command.details.empty()) text += fmt::format("\n{}\n", command.details);
  if (!command.arguments.empty()) {
    Pairs lines;
    for (const Argument& argument : command.arguments) {
      lines.emplace_back(std::string(argument.name), std::string(argument.summary));
    }
    text += fmt::format("\narguments:\n{}", two_columns(lines));
  }
  if (!command.options.empty())
    text += fmt::format("\noptions:\n{}", options_text(command.options));
  text += fmt::format("\nexit codes:\n{}", exits_text(command));
  if (command.examples.empty()) return text;
  Pairs lines;
  for (const Example& example : command.examples) {
    lines.emplace_back(std::string(example.line), std::string(example.what));
  }
  return text + fmt::format("\nexamples:\n{}", two_columns(lines));
}

}  // namespace perdure::cli
