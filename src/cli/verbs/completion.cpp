// Completion: a script for a shell, and what that script asks at every Tab.

#include "command/help.hpp"
#include "context/calls.hpp"
#include "verbs/table.hpp"

namespace perdure::cli {
namespace {

constexpr std::size_t sessions_told = 200;

Result<Exit> run_completion(CommandContext& context) {
  const std::string& shell = context.given().arguments.front();
  if (shell != "bash" && shell != "zsh" && shell != "fish") {
    return misuse("the shell is one of bash, zsh and fish");
  }
  context.screen().bytes(completion_for(shell));
  return Exit::done;
}

// A shell shows a word as it is: one with invisible characters is not offered.
void tell_word(CommandContext& context, const std::string& word, std::string_view what) {
  if (visible(word) != word) return;
  context.screen().bytes(fmt::format("{}\t{}\n", word, visible(what)));
}

Result<void> tell_calls(CommandContext& context, Store& store, const SessionSummary& row,
                        const std::string& typed) {
  auto calls = read_pending(store, row.id);
  if (!calls) return forward(calls);
  for (const PendingCall& each : *calls) {
    const std::string name = call_name(row.id, each.call.position);
    if (name.starts_with(typed)) tell_word(context, name, each.call.tool);
  }
  return {};
}

// The one that the line names, or that it would mean.
Result<std::unique_ptr<Store>> open_meant(CommandContext& context, const std::string& place) {
  if (auto trusted = context.check_trusted(); place.empty() && !trusted) return forward(trusted);
  return context.open_at(
      place.empty() ? context.location() : location_from(place, context.io().folder), false);
}

Result<void> tell_stored(CommandContext& context, const Suggestions& found) {
  auto store = open_meant(context, found.store);
  if (!store) return forward(store);
  const std::string id = found.typed.substr(0, found.typed.find(':'));
  auto page = (*store)->sessions().list({.id_prefix = id, .limit = sessions_told});
  if (!page) return forward(page);
  for (const SessionSummary& row : page->sessions) {
    if (found.by != Completes::call) {
      tell_word(context, row.id.text(), title_of(row));
    } else if (auto told = tell_calls(context, **store, row, found.typed); !told) {
      return told;
    }
  }
  return {};
}

Result<Exit> run_complete(CommandContext& context) {
  const Suggestions found = suggestions_for(commands(), context.given().arguments);
  for (const Suggestion& each : found.words) tell_word(context, each.word, each.what);
  const bool takes_file = found.by == Completes::file || found.by == Completes::session_or_file;
  const bool is_stored = found.by == Completes::session || found.by == Completes::call ||
                         found.by == Completes::session_or_file;
  Result<void> told;
  if (is_stored) told = tell_stored(context, found);
  // Also before a store exists.
  if (takes_file) context.screen().bytes(":files\n");
  if (!told) return forward(told);
  return Exit::done;
}

}  // namespace

Command completion_command() {
  return {.name = "completion",
          .summary = "Print a script that completes commands, options, sessions and calls",
          .arguments = {{.name = "SHELL",
                         .summary = "bash, zsh or fish",
                         .choices = {"bash", "zsh", "fish"}}},
          .examples = {{"source <(perdure completion bash)", "complete in this shell"}},
          .body = {.run = run_completion}};
}

Command complete_command() {
  return {.name = "complete",
          .summary = "Print words for completion scripts",
          .arguments = {{.name = "WORD",
                         .summary = "What was typed, after --",
                         .count = Argument::Count::any}},
          .is_hidden = true,
          .body = {.run = run_complete}};
}

}  // namespace perdure::cli
