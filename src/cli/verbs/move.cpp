// Moving sessions to another store.

#include <cstddef>
#include <cstdint>
#include <expected>
#include <fmt/format.h>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "command/command.hpp"
#include "context/command_context.hpp"
#include "context/sessions.hpp"
#include "context/settings.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/json.hpp"
#include "perdure/store/bundle.hpp"
#include "perdure/store/store.hpp"
#include "screen/display.hpp"
#include "screen/progress.hpp"
#include "screen/text.hpp"
#include "store/api/location.hpp"
#include "verbs/table.hpp"

namespace perdure::cli {
namespace {

// As it is shown.
std::string place_of(CommandContext& context) {
  return shown_location(location_from(context.given().arguments.front(), context.io().folder));
}

Result<MoveOptions> move_options(CommandContext& context, Store& from) {
  MoveOptions options{.with_relatives = context.given().has("with-relatives"),
                      .with_damage = context.given().has("with-damage")};
  for (std::size_t i = 1; i < context.given().arguments.size(); ++i) {
    auto row = find_session(from, context.given().arguments[i]);
    if (!row) return forward(row);
    options.sessions.push_back(row->id);
  }
  return options;
}

void show_move(CommandContext& context, const std::string& place, const MoveReport& report,
               Json::Object rest = {}) {
  Json::Object document = {
      {"to", place},           {"sessions", report.sessions}, {"entries", report.entries},
      {"calls", report.calls}, {"blobs", report.blobs},       {"damaged", report.damaged}};
  for (Json::Member& member : rest) document.push_back(std::move(member));
  context.output().document("perdure.move/1", std::move(document));
}

Result<Exit> abandon(CommandContext& context, Store& from, Store& to, const std::string& place) {
  if (auto abandoned = abandon_move(from, to); !abandoned) return forward(abandoned);
  show_move(context, place, {}, {{"abandoned", true}});
  context.talk().line(
      "Whatever an unfinished move or copy had left there is deleted; the sessions run here.");
  return Exit::done;
}

// What was moved from there is readable there, under its id.
Error with_what_is_there(Store& to, const std::string& place, Error error) {
  const auto id = SessionId::parse(error.subject);
  if (error.code != ErrorCode::already_exists || !id) return error;
  const auto row = to.sessions().read(*id);
  if (!row || row->moved_to.empty()) return error;
  error.message = fmt::format(
      "{} was moved from {} before, which still has what it was then: delete it there first: "
      "perdure delete {} --store {}",
      id->text(), place, id->text(), shell_word(place));
  return error;
}

Result<Exit> move_all(CommandContext& context, Store& from, Store& to, const MoveOptions& options) {
  const std::string place = place_of(context);
  auto report = [&] {
    ProgressBar bar(context.talk(), *context.io().clock, "moving");
    return move_sessions(from, to, options, bar.follow());
  }();
  if (!report) {
    return with_hint_of_relatives(with_what_is_there(to, place, std::move(report).error()),
                                  options.with_relatives);
  }
  show_move(context, place, *report);
  if (context.output().is_json()) return Exit::done;
  context.screen().line(fmt::format("Moved {} to {}: {} entries, {}, compared fact by fact.",
                                    counted(report->sessions, "session"), place, report->entries,
                                    counted(report->calls, "call")));
  context.talk().line(fmt::format("Next: perdure sessions --store {}", place));
  return Exit::done;
}

Result<std::vector<SessionId>> plan(CommandContext& context, Store& from, MoveOptions options) {
  options.place = place_of(context);
  auto going = plan_move(from, options);
  if (!going) return with_hint_of_relatives(going.error(), options.with_relatives);
  return going;
}

Result<Exit> tell_move(CommandContext& context, Store& from, const MoveOptions& options) {
  auto going = plan(context, from, options);
  if (!going) return forward(going);
  const std::string place = place_of(context);
  show_move(context, place, {.sessions = going->size()}, {{"dry_run", true}});
  if (context.output().is_json()) return Exit::done;
  context.screen().line(fmt::format("Would move {} to {}; nothing was done.",
                                    counted(going->size(), "session"), place));
  return Exit::done;
}

Result<std::unique_ptr<Store>> open_target(CommandContext& context, bool makes) {
  return open_store(location_from(context.given().arguments.front(), context.io().folder),
                    {.create = makes, .clock = context.io().clock, .ids = context.io().ids});
}

bool is_missing(const Result<std::unique_ptr<Store>>& store) {
  return !store && store.error().code == ErrorCode::not_found;
}

// Moved to memory, sessions would be gone when the command ends.
Result<void> check_place(CommandContext& context) {
  const std::string& place = context.given().arguments.front();
  if (auto named = check_typed(place, "PLACE"); !named) return named;
  if (place == "memory:") {
    return fail(ErrorCode::invalid_argument,
                "memory: is gone when this command ends, and the sessions with it: give a path, or "
                "postgres://…");
  }
  if (location_from(place, context.io().folder) != context.location()) return {};
  return fail(ErrorCode::invalid_argument, "both are the same store");
}

Result<Exit> run_move(CommandContext& context) {
  if (auto checked = check_place(context); !checked) return forward(checked);
  auto from = context.open();
  if (!from) return forward(from);
  auto options = move_options(context, **from);
  if (!options) return forward(options);
  if (context.given().has("dry-run")) return tell_move(context, **from, *options);
  auto to = open_target(context, false);
  if (!to && (context.given().has("abandon") || !is_missing(to))) return forward(to);
  const std::string place = place_of(context);
  if (context.given().has("abandon")) return abandon(context, **from, **to, place);
  // A store is not made for sessions that cannot move there, nor before it is confirmed.
  if (!to) {
    if (auto going = plan(context, **from, *options); !going) return forward(going);
  }
  const std::string what =
      options->sessions.empty() ? "all sessions" : counted(options->sessions.size(), "session");
  if (!context.confirms(fmt::format("Move {}{} to {}? Here they stay readable, and cannot run.",
                                    what, options->with_relatives ? " and their relatives" : "",
                                    place))) {
    return Exit::unconfirmed;
  }
  if (!to) to = open_target(context, true);
  if (!to) return forward(to);
  return move_all(context, **from, **to, *options);
}

}  // namespace

Command move_command() {
  return {
      .name = "move",
      .summary = "Move sessions to another store",
      .details =
          "From a file to a server, or back; with everything that belongs to them. If it is "
          "killed, repeat it:\n"
          "it finishes. Forks, children and their parents move together.",
      .arguments = {{.name = "PLACE",
                     .summary = "The other store: a path, or postgres://…",
                     .by = Completes::file},
                    {.name = "SES",
                     .summary = "Only these sessions; all if none is named",
                     .count = Argument::Count::any,
                     .by = Completes::session}},
      .options = {{.name = "dry-run",
                   .summary = "Only say what would be moved; the other store is not asked"},
                  {.name = "with-relatives", .summary = "Move whole families"},
                  {.name = "with-damage", .summary = "Move damaged sessions as they are"},
                  {.name = "abandon", .summary = "Delete what a killed move or copy left there"}},
      .opens_store = true,
      .exits = {Exit::unconfirmed},
      .examples = {{"perdure move postgres://db.example/agents --yes", "move in with the others"}},
      .schema = "perdure.move/1",
      .run = run_move};
}

}  // namespace perdure::cli
