// A new session that shares everything up to a point. What it would do again is said first.

#include <cstddef>
#include <fmt/format.h>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "command/command.hpp"
#include "command/table.hpp"
#include "desk.hpp"
#include "exit.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/json.hpp"
#include "perdure/runtime/read.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/store/entry.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/point.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "place/reference.hpp"
#include "screen/screen.hpp"
#include "screen/words.hpp"
#include "verbs/as_json.hpp"
#include "verbs/values.hpp"

namespace perdure::cli {
namespace {

constexpr std::size_t effects_on_a_screen = 20;

struct Wanted {
  std::optional<std::string> prompt{};
  std::optional<std::string> model{};
};

Result<Wanted> wanted_of(Desk& desk) {
  Wanted wanted;
  for (const std::string& setting : desk.given().all("set")) {
    const auto equals = setting.find('=');
    const std::string key = setting.substr(0, equals);
    if (equals == std::string::npos || (key != "prompt" && key != "model")) {
      return fail(
          ErrorCode::invalid_argument,
          fmt::format("--set {} makes no sense: write prompt=TEXT, prompt=@FILE or model=NAME",
                      setting));
    }
    auto value = text_or_file(setting.substr(equals + 1), desk.world().folder);
    if (!value) return forward(value);
    if (key == "model" && value->empty()) {
      return fail(ErrorCode::invalid_argument, "--set model= names no model: write model=NAME");
    }
    std::optional<std::string>& place = key == "prompt" ? wanted.prompt : wanted.model;
    if (place) {
      return fail(ErrorCode::invalid_argument, fmt::format("--set {} is given twice", key));
    }
    place = *std::move(value);
  }
  return wanted;
}

Result<Position> position_of(Store& store, const PlaceInSession& place) {
  if (place.point.kind() == Point::Kind::head) return place.session.head;
  if (!place.version) return place.point.number();
  auto checkpoint = store.log().read_checkpoint(place.session.id, *place.version);
  if (!checkpoint) return forward(checkpoint);
  return checkpoint->position;
}

void print_calls(Desk& desk, std::string_view heading, const std::vector<Call>& effects) {
  if (effects.empty()) return;
  desk.screen().line({{std::string(heading), Ink::yellow}});
  const std::size_t shown_most = desk.is_terminal() ? effects_on_a_screen : effects.size();
  for (const Call& call : effects | std::views::take(shown_most)) {
    const Piece state = shown(call.state, desk.is_terminal());
    desk.screen().line({{fmt::format("  {}  {}  {}  ", call_name(call.session, call.position),
                                     call.tool, to_string(call.effect))},
                        state});
  }
  if (effects.size() <= shown_most) return;
  desk.screen().line({{fmt::format("  and {}; --json lists them all",
                                   counted(effects.size() - shown_most, "more call")),
                       Ink::yellow}});
}

// A fork has in its log what was asked for before the point, and leaves it to whoever made it.
void print_effects(Desk& desk, const std::vector<Call>& effects, Position point) {
  std::vector<Call> again;
  std::vector<Call> not_ours;
  for (const Call& call : effects) (call.position > point ? again : not_ours).push_back(call);
  print_calls(
      desk,
      "These took effect after the point, or may have, and the fork may do them again:", again);
  print_calls(desk,
              "These were asked for before the point, and came to an end after it or to none; the "
              "fork does not make them:",
              not_ours);
}

// What it is of and how it began is what its parent is of and how that began: it can be resumed and
// found like any other session.
Annotation annotation_of(Desk& desk, const SessionSummary& parent) {
  const std::string title = parent.title.empty() ? "" : fmt::format("{} (fork)", parent.title);
  return {.title = desk.given().find("title").value_or(title),
          .opening = parent.opening,
          .metadata = parent.metadata};
}

Result<SessionId> make_fork(Desk& desk, const PlaceInSession& place, const Wanted& wanted) {
  auto runtime = desk.worker();
  if (!runtime) return forward(runtime);
  auto forked = (*runtime)->fork(place.session.id, place.point,
                                 {.annotation = annotation_of(desk, place.session),
                                  .fresh_effects = desk.given().has("fresh-effects"),
                                  .system_prompt = wanted.prompt,
                                  .model = wanted.model});
  if (!forked) return forward(forked);
  return forked->id;
}

struct ForkPoint {
  PlaceInSession place{};
  Position position = 0;
  std::vector<Call> effects{};  ///< Of its parent, after the point.
};

Result<ForkPoint> find_fork_point(Store& store, const std::string& text) {
  auto place = find_point(store, text);
  if (!place) return forward(place);
  auto position = position_of(store, *place);
  if (!position) return forward(position);
  auto effects = effects_after(store, place->session.id, *position);
  if (!effects) return forward(effects);
  return ForkPoint{*std::move(place), *position, *std::move(effects)};
}

void show_fork(Desk& desk, const ForkPoint& point, const std::optional<SessionId>& id) {
  Json::Array calls;
  for (const Call& call : point.effects) calls.push_back(as_json(call));
  desk.output().document("perdure.fork/1", {{"id", id ? Json(id->text()) : Json(nullptr)},
                                            {"from", point.place.name},
                                            {"position", point.position},
                                            {"effects", std::move(calls)}});
  if (desk.output().is_json()) return;
  const std::string at = fmt::format("{} at position {}", point.place.name, point.position);
  desk.screen().line(id ? fmt::format("Forked {}: {}", at, id->text())
                        : fmt::format("Would fork {}; nothing was done.", at));
  print_effects(desk, point.effects, point.position);
  if (id) desk.talk().line("Next: " + desk.command("resume " + desk.short_id(id->text())));
}

Result<Exit> run_fork(Desk& desk) {
  auto store = desk.open();
  if (!store) return forward(store);
  auto wanted = wanted_of(desk);
  if (!wanted) return forward(wanted);
  auto point = find_fork_point(**store, desk.given().arguments.front());
  if (!point) return forward(point);
  std::optional<SessionId> id;
  if (!desk.given().has("dry-run")) {
    auto made = make_fork(desk, point->place, *wanted);
    if (!made) return forward(made);
    id = *made;
  }
  show_fork(desk, *point, id);
  return Exit::done;
}

}  // namespace

Command fork_command() {
  return {.name = "fork",
          .summary = "Make a new session that shares everything up to a point",
          .details =
              "Nothing is copied, and the old session stays as it is. Calls that took effect after "
              "the point are\n"
              "listed: the fork may make them again. What is done once for a whole family of "
              "sessions is not,\n"
              "unless --fresh-effects says so. What --set changes counts until the session goes on "
              "under a changed\n"
              "agent file; then all of it goes by the file. Another model is one of the same "
              "provider.",
          .arguments = {{.name = "POINT",
                         .summary = "A session, or a point of it",
                         .by = Completes::session}},
          .options = {{.name = "title", .value = "TEXT", .summary = "What the fork is called"},
                      {.name = "set",
                       .value = "KEY=VALUE",
                       .summary = "prompt=TEXT, prompt=@FILE or model=NAME",
                       .repeats = true},
                      {.name = "fresh-effects",
                       .summary = "Do again also what is done once for the family"},
                      {.name = "dry-run", .summary = "Only say what it would do again"}},
          .opens_store = true,
          .examples = {{"perdure fork ses_7k2m@2.0 --set prompt=@v2.md",
                        "turn 2 again, with another prompt"}},
          .schema = "perdure.fork/1",
          .run = run_fork};
}

}  // namespace perdure::cli
