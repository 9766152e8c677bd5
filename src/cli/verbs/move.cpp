// Moving sessions to another store.

#include "perdure/store/upkeep.hpp"
#include "store/api/location.hpp"
#include "store/api/seam.hpp"
#include "verbs/table.hpp"

namespace perdure::cli {
namespace {

// `mark`: what else the document says of it.
void show_move(CommandContext& context, const std::string& place, const MoveReport& report,
               std::string_view mark = "") {
  Json::Object document = {
      {"to", place},           {"sessions", report.sessions}, {"entries", report.entries},
      {"calls", report.calls}, {"blobs", report.blobs},       {"damaged", report.damaged}};
  if (!mark.empty()) document.emplace_back(std::string(mark), true);
  context.output().document("perdure.move/1", std::move(document));
}

Result<Exit> abandon(CommandContext& context, Store& from, Store& to, const std::string& place) {
  if (auto abandoned = abandon_move(from, to); !abandoned) return forward(abandoned);
  show_move(context, place, {}, "abandoned");
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

Result<Exit> move_all(CommandContext& context, Store& from, Store& to, const MoveOptions& options,
                      const std::string& place) {
  auto report = move_sessions(from, to, options, context.progress("moving").follow());
  if (!report) {
    return with_hint_of_relatives(with_what_is_there(to, place, std::move(report).error()),
                                  options.with_relatives);
  }
  show_move(context, place, *report);
  context.screen().line(fmt::format("Moved {} to {}: {} entries, {}, compared fact by fact.",
                                    counted(report->sessions, "session"), place, report->entries,
                                    counted(report->calls, "call")));
  context.advise_next("perdure sessions --store " + place);
  return Exit::done;
}

Result<Exit> run_move(CommandContext& context, Store& from) {
  auto location = context.other_location();
  if (!location) return forward(location);
  auto rows = named_sessions(context, from, 1);
  if (!rows) return forward(rows);
  const std::string place = shown_location(*location);
  MoveOptions options{.with_relatives = context.given().has("with-relatives"),
                      .with_damage = context.given().has("with-damage")};
  for (const SessionSummary& row : *rows) options.sessions.push_back(row.id);
  const bool is_dry = context.given().has("dry-run");
  const bool abandons = context.given().has("abandon") && !is_dry;
  auto to = is_dry ? nullptr : context.open_at(*location, false);
  const bool is_missing = !to && to.error().code == ErrorCode::not_found;
  if (!to && (abandons || !is_missing)) return forward(to);
  if (abandons) return abandon(context, from, **to, place);
  // A store is not made for sessions that cannot move there, nor before it is confirmed.
  if (is_dry || is_missing) {
    MoveOptions planned = options;
    planned.place = place;
    auto going = plan_move(from, planned);
    if (!going) return with_hint_of_relatives(going.error(), options.with_relatives);
    if (is_dry) {
      show_move(context, place, {.sessions = going->size()}, "dry_run");
      context.screen().line(fmt::format("Would move {} to {}; nothing was done.",
                                        counted(going->size(), "session"), place));
      return Exit::done;
    }
  }
  const std::string what = rows->empty() ? "all sessions" : counted(rows->size(), "session");
  if (!context.confirms(fmt::format("Move {}{} to {}? Here they stay readable, and cannot run.",
                                    what, options.with_relatives ? " and their relatives" : "",
                                    place))) {
    return Exit::unconfirmed;
  }
  if (is_missing) to = context.open_at(*location, true);
  if (!to) return forward(to);
  return move_all(context, from, **to, options, place);
}

}  // namespace

Command move_command() {
  return {
      .name = "move",
      .summary = "Move sessions to another store",
      .details =
          "From a file to a server, or back; with everything that belongs to them. If it is "
          "killed, repeat it: it finishes. Forks, children and their parents move together.",
      .arguments = {place_argument, sessions_argument},
      .options = {{.name = "dry-run",
                   .summary = "Only say what would be moved; the other store is not asked"},
                  {.name = "with-relatives", .summary = "Move whole families"},
                  {.name = "with-damage", .summary = "Move damaged sessions as they are"},
                  {.name = "abandon", .summary = "Delete what a killed move or copy left there"}},
      .exits = {Exit::unconfirmed},
      .examples = {{"perdure move postgres://db.example/agents --yes", "move in with the others"}},
      .schema = "perdure.move/1",
      .check = [](CommandContext& context) { return checked(context.other_location()); },
      .body = on_store(run_move)};
}

}  // namespace perdure::cli
