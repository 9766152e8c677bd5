// Help, and the pages that are made from the table of commands.

#include "command/help.hpp"

#include <filesystem>
#include <fstream>
#include <ios>

#include "verbs/table.hpp"

namespace perdure::cli {
namespace {

constexpr std::string_view guarantees =
    R"(What holds through a kill, in short; docs/guarantees.md has each with its conditions and its test.

  durable      What was acknowledged survives the death of the process, and of the machine.
  atomic       Messages, plan, money and calls of a step are recorded together, or not at all.
  paid once    An answer of the model is recorded before anything acts on it, and not bought again.
  effects      A call whose tool honours our key, or can be asked, takes effect once. Another one
               that may have had an effect is left in doubt, and never made again by itself.
  one writer   A session has one owner at a time; an outdated one writes nothing.
  resumable    A resumed session is what it was at its last commit: prompt, tools, plan, budget, all.
  versions     Every version can be read, compared and forked from, until it is pruned.
  readable     A damaged session still opens as far as it can be read; damage is named: perdure check.

What this rests on here: perdure doctor
)";

Result<Exit> run_help(CommandContext& context) {
  const auto& words = context.given().arguments;
  const std::string word = words.empty() ? "" : words.front();
  const Command* command = find_command(word);
  const std::string_view page = find_error_page(word);
  if (!word.empty() && word != "guarantees" && page.empty() && command == nullptr) {
    return fail(ErrorCode::not_found, fmt::format("there is no command and no error {}", word));
  }
  context.screen().bytes(word.empty()           ? overview(commands())
                         : command != nullptr   ? help_of(*command)
                         : word == "guarantees" ? std::string(guarantees)
                                                : std::string(page));
  return Exit::done;
}

Result<void> write_page(const std::filesystem::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (file) return {};
  return fail(ErrorCode::unavailable, fmt::format("{} cannot be written", path.string()));
}

Result<Exit> run_reference(CommandContext& context) {
  const std::filesystem::path folder = context.given().arguments.at(1);
  const bool is_man = context.given().arguments.front() == "man";
  std::filesystem::create_directories(folder);
  auto wrote = is_man ? write_page(folder / "perdure.1", man_index(commands()))
                      : write_page(folder / "README.md", markdown_index(commands()));
  if (!wrote) return forward(wrote);
  for (const Command& command : commands()) {
    if (command.is_hidden) continue;
    wrote = is_man ? write_page(folder / fmt::format("perdure-{}.1", command.name), man_of(command))
                   : write_page(folder / fmt::format("{}.md", command.name), markdown_of(command));
    if (!wrote) return forward(wrote);
  }
  return Exit::done;
}

}  // namespace

Command help_command() {
  return {.name = "help",
          .summary = "Say how the program or a command is used",
          .arguments =
              {{.name = "COMMAND",
                .summary =
                    "The command; the code of an error; or guarantees: what holds through a kill",
                .count = Argument::Count::maybe,
                .by = Completes::command}},
          .exits = {Exit::not_found},
          .examples = {{"perdure help show", "how `show` is used"},
                       {"perdure help corrupted", "what an error means, and what to do"},
                       {"perdure help guarantees", "what can be relied on"}},
          .body = {.run = run_help}};
}

Command reference_command() {
  return {.name = "reference",
          .summary = "Write the reference pages",
          .arguments = {{.name = "FORM", .summary = "markdown or man"},
                        {.name = "FOLDER", .summary = "Where to"}},
          .is_hidden = true,
          .body = {.run = run_reference}};
}

}  // namespace perdure::cli
