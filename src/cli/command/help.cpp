// Help on a terminal, the reference in Markdown, and man pages.

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

// Whatever man would take for its own. Dashes are made the ASCII ones, so that they can be copied.
std::string roff(std::string_view text) {
  std::string made;
  for (const char letter : text) {
    if (letter == '\\') {
      made += "\\e";
    } else if (letter == '-') {
      made += "\\-";
    } else {
      made += letter;
    }
  }
  for (const std::string_view risky : {"\n.", "\n'"}) {
    for (auto at = made.find(risky); at != std::string::npos; at = made.find(risky, at + 3)) {
      made.insert(at + 1, "\\&");
    }
  }
  return made;
}

std::string man_options(const std::vector<Option>& options) {
  std::string text;
  for (const Option& option : options) {
    text += fmt::format(".TP\n.B {}\n{}.\n", roff(option_text(option)), roff(option.summary));
  }
  return text;
}

std::string man_head(std::string_view name, std::string_view summary, std::string_view usage) {
  return fmt::format(
      ".TH {} 1 \"\" \"perdure\" \"Perdure\"\n.SH NAME\n{} \\- {}\n.SH SYNOPSIS\n{}\n", name,
      roff(name), roff(summary), roff(usage));
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

std::string markdown_of(const Command& command) {
  std::string text = fmt::format("# perdure {}\n\n{}.\n\n    {}\n", command.name, command.summary,
                                 usage_of(command));
  if (!command.details.empty()) text += fmt::format("\n{}\n", command.details);
  if (!command.arguments.empty()) text += "\n| argument | |\n|---|---|\n";
  for (const Argument& argument : command.arguments) {
    text += fmt::format("| `{}` | {} |\n", argument.name, argument.summary);
  }
  if (!command.options.empty()) text += "\n| option | |\n|---|---|\n";
  for (const Option& option : command.options) {
    text += fmt::format("| `{}` | {} |\n", option_text(option), option.summary);
  }
  text += "\n| exit code | |\n|---|---|\n";
  for (const Exit exit : exits_of(command)) {
    text += fmt::format("| {} | {} |\n", std::to_underlying(exit), meaning_of(exit));
  }
  if (!command.schema.empty()) {
    text += fmt::format("\n`--json` prints `{}`: [schema](../schemas/{}.json).\n", command.schema,
                        command.schema.substr(0, command.schema.find('/')));
  }
  if (!command.examples.empty()) text += "\nExamples:\n\n";
  for (const Example& example : command.examples) {
    text += fmt::format("- `{}`: {}\n", example.line, example.what);
  }
  return text;
}

std::string markdown_index(const std::vector<Command>& table) {
  std::string text =
      "# The command line\n\nMade by `perdure reference`; do not edit.\n\n| command | "
      "|\n|---|---|\n";
  for (const Command& command : table) {
    if (command.is_hidden) continue;
    text += fmt::format("| [`{0}`]({0}.md) | {1} |\n", command.name, command.summary);
  }
  text += "\n| option of every command | |\n|---|---|\n";
  for (const Option& option : global_options()) {
    text += fmt::format("| `{}` | {} |\n", option_text(option), option.summary);
  }
  return text;
}

std::string man_of(const Command& command) {
  std::string text =
      man_head(fmt::format("perdure-{}", command.name), command.summary, usage_of(command));
  text += fmt::format(".SH DESCRIPTION\n{}.\n", roff(command.summary));
  if (!command.details.empty()) text += fmt::format(".PP\n{}\n", roff(command.details));
  if (!command.arguments.empty()) text += ".SH ARGUMENTS\n";
  for (const Argument& argument : command.arguments) {
    text += fmt::format(".TP\n.B {}\n{}.\n", roff(argument.name), roff(argument.summary));
  }
  text += ".SH OPTIONS\n" + man_options(command.options) + man_options(global_options());
  text += ".SH EXIT STATUS\n";
  for (const Exit exit : exits_of(command)) {
    text += fmt::format(".TP\n.B {}\n{}.\n", std::to_underlying(exit), roff(meaning_of(exit)));
  }
  if (!command.examples.empty()) text += ".SH EXAMPLES\n";
  for (const Example& example : command.examples) {
    text += fmt::format(".TP\n.B {}\n{}.\n", roff(example.line), roff(example.what));
  }
  return text + ".SH SEE ALSO\n.BR perdure (1)\n";
}

std::string man_index(const std::vector<Command>& table) {
  std::string text =
      man_head("perdure", "agents that cannot be lost", "perdure COMMAND [ARGUMENT…] [OPTION…]");
  text += ".SH COMMANDS\n";
  for (const Command& command : table) {
    if (command.is_hidden) continue;
    text += fmt::format(".TP\n.BR perdure\\-{} (1)\n{}.\n", command.name, roff(command.summary));
  }
  return text + ".SH OPTIONS\n" + man_options(global_options());
}

}  // namespace perdure::cli
