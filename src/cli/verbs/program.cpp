// Verbs about the program itself: help, version, config, and the pages that are made of the table of
// commands.

#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <ios>
#include <string>
#include <string_view>
#include <utility>

#include "command/build_info.hpp"
#include "command/command.hpp"
#include "command/error_pages.hpp"
#include "command/help.hpp"
#include "command/table.hpp"
#include "desk.hpp"
#include "exit.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "place/settings.hpp"
#include "screen/screen.hpp"
#include "screen/table.hpp"
#include "store/api/location.hpp"

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

Result<Exit> run_help(Desk& desk) {
  const auto& words = desk.given().arguments;
  if (words.empty()) {
    desk.screen().bytes(overview(commands()));
    return Exit::done;
  }
  if (words.front() == "guarantees") {
    desk.screen().bytes(guarantees);
    return Exit::done;
  }
  if (const std::string_view page = find_error_page(words.front()); !page.empty()) {
    desk.screen().bytes(page);
    return Exit::done;
  }
  const Command* command = find_command(words.front());
  if (command == nullptr) {
    return fail(ErrorCode::not_found,
                fmt::format("there is no command and no error {}", words.front()));
  }
  desk.screen().bytes(help_of(*command));
  return Exit::done;
}

Result<Exit> run_version(Desk& desk) {
  const BuildInfo build = build_info();
  if (!desk.output().is_json()) {
    desk.screen().line(fmt::format("perdure {}", build.version));
    return Exit::done;
  }
  Json::Array backends;
  for (const BuiltBackend& backend : built_backends()) {
    backends.push_back(Json::Object{
        {"name", backend.name}, {"library", backend.library}, {"format", backend.format}});
  }
  desk.output().document("perdure.version/1",
                         {{"version", build.version},
                          {"commit", build.commit.empty() ? Json(nullptr) : Json(build.commit)},
                          {"compiler", build.compiler},
                          {"build_type", build.build_type},
                          {"backends", std::move(backends)}});
  return Exit::done;
}

Result<Exit> run_config(Desk& desk) {
  Output& output = desk.output();
  output.begin_list("perdure.config/1");
  Table table({{.heading = "SETTING"}, {.heading = "VALUE"}, {.heading = "SET BY"}});
  for (const Setting& setting : desk.settings()) {
    const std::string value = shown_location(setting.value);
    output.item(Json::Object{{"key", setting.key}, {"value", value}, {"origin", setting.origin}});
    table.add({{setting.key, Ink::bold}, {value}, {setting.origin, Ink::dim}});
  }
  output.end_list();
  if (!output.is_json()) table.print(desk.screen());
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
                         .summary = "The command; the code of an error; or guarantees: what holds "
                                    "through a kill",
                         .count = Argument::Count::maybe,
                         .by = Completes::command}},
          .exits = {Exit::not_found},
          .examples = {{"perdure help show", "how `show` is used"},
                       {"perdure help corrupted", "what an error means, and what to do"},
                       {"perdure help guarantees", "what can be relied on"}},
          .run = run_help};
}

Command version_command() {
  return {.name = "version",
          .summary = "Say which version this is",
          .details =
              "With --json also what it is built of: commit, compiler, engines, and the "
              "formats that stores are written in.",
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
              "is the default. These files have lines `key = value`. The default store is "
              ".perdure/store of the\n"
              "project, if there is one, else $XDG_DATA_HOME/perdure/store.db.",
          .examples = {{"perdure config", "where the store is, and why there"}},
          .schema = "perdure.config/1",
          .fields = {"key", "value", "origin"},
          .run = run_config};
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
