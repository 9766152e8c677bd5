// Copying sessions to another store.

#include "perdure/store/copy.hpp"

#include <fmt/format.h>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "command/command.hpp"
#include "command/table.hpp"
#include "desk.hpp"
#include "exit.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id_source.hpp"
#include "perdure/core/json.hpp"
#include "perdure/store/location.hpp"
#include "perdure/store/open.hpp"
#include "perdure/store/store.hpp"
#include "place/reference.hpp"
#include "place/settings.hpp"
#include "screen/progress_bar.hpp"
#include "screen/text.hpp"
#include "screen/words.hpp"

namespace perdure::cli {
namespace {

std::string target_of(Desk& desk) {
  return location_from(desk.given().arguments.front(), desk.world().folder);
}

// Copied to memory, they would be gone when the command ends.
Result<void> check_target(Desk& desk) {
  if (auto named = check_typed(desk.given().arguments.front(), "PLACE"); !named) return named;
  if (target_of(desk) == desk.location()) {
    return fail(ErrorCode::invalid_argument, "both are the same store: use perdure fork");
  }
  if (desk.given().arguments.front() != "memory:") return {};
  return fail(ErrorCode::invalid_argument,
              "memory: is gone when this command ends, and the copies with it: give a path, or "
              "postgres://…");
}

// Before the other store is made.
Result<std::vector<SessionSummary>> named_sessions(Desk& desk, Store& from) {
  std::vector<SessionSummary> rows;
  for (std::size_t i = 1; i < desk.given().arguments.size(); ++i) {
    auto row = find_session(from, desk.given().arguments[i]);
    if (!row) return forward(row);
    rows.push_back(*std::move(row));
  }
  return rows;
}

Result<Exit> copy_all(Desk& desk, Store& from, Store& to, const std::vector<SessionSummary>& rows) {
  const std::string place = shown_location(target_of(desk));
  Json::Array copies;
  for (const SessionSummary& row : rows) {
    const CopyOptions options{.id = mint<SessionTag>(*desk.world().ids),
                              .with_damage = desk.given().has("with-damage")};
    ProgressBar bar(desk.talk(), *desk.world().clock, "copying");
    auto report = copy_session(from, row.id, to, options, bar.follow());
    if (!report) return forward(report);
    copies.push_back(Json::Object{{"from", row.id.text()},
                                  {"id", options.id.text()},
                                  {"entries", report->entries},
                                  {"blobs", report->blobs}});
    if (desk.output().is_json()) continue;
    desk.screen().line(fmt::format("Copied {} to {} as {}: {} entries; it is paused.",
                                   row.id.text(), place, options.id.text(), report->entries));
  }
  desk.output().document("perdure.copy/1", {{"to", place}, {"copies", std::move(copies)}});
  if (desk.output().is_json()) return Exit::done;
  desk.talk().line(fmt::format("Next: perdure sessions --store {}", place));
  return Exit::done;
}

Result<Exit> run_copy(Desk& desk) {
  if (auto checked = check_target(desk); !checked) return forward(checked);
  auto from = desk.open();
  if (!from) return forward(from);
  auto rows = named_sessions(desk, **from);
  if (!rows) return forward(rows);
  auto to = open_store(target_of(desk), {.clock = desk.world().clock, .ids = desk.world().ids});
  if (!to) return forward(to);
  return copy_all(desk, **from, **to, *rows);
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
