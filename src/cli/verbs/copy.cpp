// Copying sessions to another store.

#include <fmt/format.h>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "context/sessions.hpp"
#include "perdure/core/id.hpp"
#include "perdure/store/bundle.hpp"
#include "screen/display.hpp"
#include "screen/progress.hpp"
#include "screen/text.hpp"
#include "store/api/location.hpp"
#include "verbs/table.hpp"

namespace perdure::cli {
namespace {

std::string target_of(CommandContext& context) {
  return location_from(context.given().arguments.front(), context.io().folder);
}

// Copied to memory, they would be gone when the command ends.
Result<void> check_target(CommandContext& context) {
  if (auto named = check_typed(context.given().arguments.front(), "PLACE"); !named) return named;
  if (target_of(context) == context.location()) {
    return fail(ErrorCode::invalid_argument, "both are the same store: use perdure fork");
  }
  if (context.given().arguments.front() != "memory:") return {};
  return fail(ErrorCode::invalid_argument,
              "memory: is gone when this command ends, and the copies with it: give a path, or "
              "postgres://…");
}

// Before the other store is made.
Result<std::vector<SessionSummary>> named_sessions(CommandContext& context, Store& from) {
  std::vector<SessionSummary> rows;
  for (std::size_t i = 1; i < context.given().arguments.size(); ++i) {
    auto row = find_session(from, context.given().arguments[i]);
    if (!row) return forward(row);
    rows.push_back(*std::move(row));
  }
  return rows;
}

Result<Exit> copy_all(CommandContext& context, Store& from, Store& to,
                      const std::vector<SessionSummary>& rows) {
  const std::string place = shown_location(target_of(context));
  Json::Array copies;
  for (const SessionSummary& row : rows) {
    const CopyOptions options{.id = mint<SessionTag>(*context.io().ids),
                              .with_damage = context.given().has("with-damage")};
    ProgressBar bar(context.talk(), *context.io().clock, "copying");
    auto report = copy_session(from, row.id, to, options, bar.follow());
    if (!report) return forward(report);
    copies.push_back(Json::Object{{"from", row.id.text()},
                                  {"id", options.id.text()},
                                  {"entries", report->entries},
                                  {"blobs", report->blobs}});
    if (context.output().is_json()) continue;
    context.screen().line(fmt::format("Copied {} to {} as {}: {} entries; it is paused.",
                                      row.id.text(), place, options.id.text(), report->entries));
  }
  context.output().document("perdure.copy/1", {{"to", place}, {"copies", std::move(copies)}});
  if (context.output().is_json()) return Exit::done;
  context.talk().line(fmt::format("Next: perdure sessions --store {}", place));
  return Exit::done;
}

Result<Exit> run_copy(CommandContext& context) {
  if (auto checked = check_target(context); !checked) return forward(checked);
  auto from = context.open();
  if (!from) return forward(from);
  auto rows = named_sessions(context, **from);
  if (!rows) return forward(rows);
  auto to = open_store(target_of(context), {.clock = context.io().clock, .ids = context.io().ids});
  if (!to) return forward(to);
  return copy_all(context, **from, **to, *rows);
}

}  // namespace

Command copy_command() {
  return {.name = "copy",
          .summary = "Copy sessions to another store, as paused forks",
          .details =
              "A copy has a new id and the session's history. Calls without an outcome stay with "
              "the session:\n"
              "the copy never runs them. The session itself is not changed.",
          .arguments = {{.name = "PLACE",
                         .summary = "The other store: a path, or postgres://…",
                         .by = Completes::file},
                        {.name = "SES",
                         .summary = "The sessions to copy",
                         .count = Argument::Count::some,
                         .by = Completes::session}},
          .options = {{.name = "with-damage", .summary = "Copy damaged sessions as they are"}},
          .opens_store = true,
          .examples = {{"perdure copy try.db ses_7k2m", "try something out elsewhere"}},
          .schema = "perdure.copy/1",
          .run = run_copy};
}

}  // namespace perdure::cli
