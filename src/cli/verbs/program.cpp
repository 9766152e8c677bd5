// Verbs about the program itself: help, version, config, completion, and the pages that are made of
// the table of commands.

#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "command/command.hpp"
#include "command/help.hpp"
#include "command/table.hpp"
#include "desk.hpp"
#include "exit.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/sessions.hpp"
#include "place/reference.hpp"
#include "place/settings.hpp"
#include "screen/table.hpp"
#include "screen/text.hpp"

namespace perdure::cli {
namespace {

Result<Exit> run_help(Desk& desk) {
  const auto& words = desk.given().arguments;
  if (words.empty()) {
    desk.screen().bytes(overview(commands()));
    return Exit::done;
  }
  const Command* command = find_command(words.front());
  if (command == nullptr) {
    return fail(ErrorCode::not_found, fmt::format("there is no command {}", words.front()));
  }
  desk.screen().bytes(help_of(*command));
  return Exit::done;
}

Result<Exit> run_version(Desk& desk) {
  desk.output().document("perdure.version/1", {{"version", PERDURE_VERSION}});
  if (!desk.output().is_json()) desk.screen().line(fmt::format("perdure {}", PERDURE_VERSION));
  return Exit::done;
}

Result<Exit> run_config(Desk& desk) {
  Output& output = desk.output();
  output.begin_list("perdure.config/1");
  Table table({{.heading = "SETTING"}, {.heading = "VALUE"}, {.heading = "SET BY"}});
  for (const Setting& setting : desk.settings()) {
    output.item(
        Json::Object{{"key", setting.key}, {"value", setting.value}, {"origin", setting.origin}});
    table.add({{setting.key, Ink::bold}, {setting.value}, {setting.origin, Ink::dim}});
  }
  output.end_list();
  if (!output.is_json()) table.print(desk.screen());
  return Exit::done;
}

Result<Exit> run_completion(Desk& desk) {
  const std::string& shell = desk.given().arguments.front();
  if (shell != "bash" && shell != "zsh" && shell != "fish") {
    return fail(ErrorCode::invalid_argument, "the shell is one of bash, zsh and fish");
  }
  desk.screen().bytes(completion_for(shell, commands()));
  return Exit::done;
}

// Lines "word<tab>what it is", for the scripts.
Result<Exit> run_complete(Desk& desk) {
  auto store = desk.open();
  if (!store) return forward(store);
  const bool wants_calls = desk.given().arguments.front() == "call";
  auto page = (*store)->sessions().list({.limit = 200});
  if (!page) return forward(page);
  for (const SessionSummary& row : page->sessions) {
    if (!wants_calls) {
      desk.screen().bytes(fmt::format("{}\t{}\n", row.id.text(), visible(row.title)));
      continue;
    }
    auto calls = (*store)->ledger().list({.session = row.id});
    if (!calls) return forward(calls);
    for (const Call& call : *calls) {
      if (!is_pending(call, row)) continue;
      desk.screen().bytes(
          fmt::format("{}\t{}\n", call_name(row.id, call.position), visible(call.tool)));
    }
  }
  return Exit::done;
}

Result<void> write_page(const std::filesystem::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (file) return {};
  return fail(ErrorCode::unavailable, fmt::format("{} cannot be written", path.string()));
}

Result<Exit> run_reference(Desk& desk) {
  const std::filesystem::path folder = desk.given().arguments.at(1);
  const bool is_man = desk.given().arguments.front() == "man";
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
          .arguments = {{.name = "COMMAND",
                         .summary = "The command",
                         .count = Argument::Count::maybe,
                         .by = Completes::command}},
          .exits = {Exit::not_found},
          .examples = {{"perdure help show", "how `show` is used"}},
          .run = run_help};
}

Command version_command() {
  return {.name = "version",
          .summary = "Say which version this is",
          .schema = "perdure.version/1",
          .run = run_version};
}

Command config_command() {
  return {.name = "config",
          .summary = "Show the settings and who made them",
          .details =
              "A setting comes from its flag, else from the environment (PERDURE_STORE, "
              "PERDURE_COLOR), else from\n"
              ".perdure/config in this folder or one above it, else from "
              "$XDG_CONFIG_HOME/perdure/config, else it\n"
              "is the default. These files have lines `key = value`. The default store is\n"
              "$XDG_DATA_HOME/perdure/store.db.",
          .examples = {{"perdure config", "where the store is, and why there"}},
          .schema = "perdure.config/1",
          .run = run_config};
}

Command completion_command() {
  return {.name = "completion",
          .summary = "Print a script that completes commands, options, sessions and calls",
          .arguments = {{.name = "SHELL", .summary = "bash, zsh or fish"}},
          .examples = {{"source <(perdure completion bash)", "complete in this shell"}},
          .run = run_completion};
}

Command complete_command() {
  return {.name = "complete",
          .summary = "Print words for completion scripts",
          .arguments = {{.name = "WHAT", .summary = "session or call"}},
          .is_hidden = true,
          .run = run_complete};
}

Command reference_command() {
  return {.name = "reference",
          .summary = "Write the reference pages",
          .arguments = {{.name = "FORM", .summary = "markdown or man"},
                        {.name = "FOLDER", .summary = "Where to"}},
          .is_hidden = true,
          .run = run_reference};
}

}  // namespace perdure::cli
