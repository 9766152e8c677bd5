// A new session that shares everything up to a point. What it would do again is said first.

#include <cstddef>
#include <fmt/format.h>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "context/options.hpp"
#include "context/sessions.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/store/ledger.hpp"
#include "screen/as_json.hpp"
#include "screen/display.hpp"
#include "verbs/table.hpp"

namespace perdure::cli {
namespace {

constexpr std::size_t effects_on_a_screen = 20;

struct Wanted {
  std::optional<std::string> prompt{};
  std::optional<std::string> model{};
};

Result<Wanted> wanted_of(CommandContext& context) {
  Wanted wanted;
  for (const std::string& setting : context.given().all("set")) {
    const auto equals = setting.find('=');
    const std::string key = setting.substr(0, equals);
    if (equals == std::string::npos || (key != "prompt" && key != "model")) {
      return fail(
          ErrorCode::invalid_argument,
          fmt::format("--set {} makes no sense: write prompt=TEXT, prompt=@FILE or model=NAME",
                      setting));
    }
    auto value = text_or_file(setting.substr(equals + 1), context.io().folder);
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

std::string words_for_run(CallState state) {
  switch (state) {
    case CallState::succeeded:
      return "is made again: it succeeded";
    case CallState::failed:
      return "is made: it failed";
    case CallState::denied:
      return "is made: it was denied, and that counts there alone";
    case CallState::cancelled:
      return "is made: it was cancelled";
    default:
      return "will run (not started yet)";
  }
}

std::string words_for(const CarriedCall& carried) {
  switch (carried.as) {
    case Carried::runs:
      return words_for_run(carried.call.state);
    case Carried::replays:
      return "is not made: it was done, and its result is given";
    case Carried::told:
      return "is not made: its outcome is unknown, and the model is told";
    case Carried::refused:
      return "is not made: it was refused when it was asked for";
  }
  return "";
}

// What is left out on a screen is said.
void print_rest(CommandContext& context, std::size_t calls, std::size_t shown_most) {
  if (calls <= shown_most) return;
  context.screen().line(
      {{fmt::format("  and {}; --json lists them all", counted(calls - shown_most, "more call")),
        Ink::yellow}});
}

std::size_t most_shown(CommandContext& context, std::size_t calls) {
  return context.is_terminal() ? effects_on_a_screen : calls;
}

// Under the fork's own names, by which they are allowed, where it has them.
void print_first(CommandContext& context, const Forked& forked) {
  if (forked.calls.empty()) return;
  context.screen().line(
      {{"The response at the point asks for these; the fork begins with them:", Ink::yellow}});
  const std::size_t shown_most = most_shown(context, forked.calls.size());
  for (const CarriedCall& carried : forked.calls | std::views::take(shown_most)) {
    const Call& call = carried.call;
    const std::string name = carried.position != 0 ? call_name(forked.id, carried.position)
                                                   : call_name(call.session, call.position);
    context.screen().line(fmt::format("  {}  {}  {}  {}", name, call.tool, to_string(call.effect),
                                      words_for(carried)));
  }
  print_rest(context, forked.calls.size(), shown_most);
}

void print_effects(CommandContext& context, const std::vector<Call>& effects) {
  if (effects.empty()) return;
  context.screen().line(
      {{"These took effect after the point, or may have, and the fork may do them again:",
        Ink::yellow}});
  const std::size_t shown_most = most_shown(context, effects.size());
  for (const Call& call : effects | std::views::take(shown_most)) {
    const Piece state = shown(call.state, context.is_terminal());
    context.screen().line({{fmt::format("  {}  {}  {}  ", call_name(call.session, call.position),
                                        call.tool, to_string(call.effect))},
                           state});
  }
  print_rest(context, effects.size(), shown_most);
}

// What it is of and how it began is what its parent is of and how that began: it can be resumed and
// found like any other session.
Annotation annotation_of(CommandContext& context, const SessionSummary& parent) {
  const std::string title = parent.title.empty() ? "" : fmt::format("{} (fork)", parent.title);
  return {.title = context.given().find("title").value_or(title),
          .opening = parent.opening,
          .metadata = parent.metadata};
}

Result<Forked> make_fork(CommandContext& context, const PlaceInSession& place,
                         const Wanted& wanted) {
  auto runtime = context.worker();
  if (!runtime) return forward(runtime);
  return (*runtime)->fork(place.session.id, place.point,
                          {.annotation = annotation_of(context, place.session),
                           .fresh_effects = context.given().has("fresh-effects"),
                           .system_prompt = wanted.prompt,
                           .model = wanted.model});
}

void show_fork(CommandContext& context, const PlaceInSession& place, const Forked& forked) {
  Json::Array calls;
  for (const CarriedCall& carried : forked.calls) {
    calls.push_back(
        Json::Object{{"call", as_json(carried.call)},
                     {"fate", to_string(carried.as)},
                     {"position", carried.position != 0 ? Json(carried.position) : Json(nullptr)}});
  }
  Json::Array effects;
  for (const Call& call : forked.effects_after) effects.push_back(as_json(call));
  const bool is_made = !forked.id.empty();
  context.output().document("perdure.fork/1",
                            {{"id", is_made ? Json(forked.id.text()) : Json(nullptr)},
                             {"from", place.name},
                             {"position", forked.position},
                             {"calls", std::move(calls)},
                             {"effects", std::move(effects)}});
  if (context.output().is_json()) return;
  const std::string at = fmt::format("{} at position {}", place.name, forked.position);
  context.screen().line(is_made ? fmt::format("Forked {}: {}", at, forked.id.text())
                                : fmt::format("Would fork {}; nothing was done.", at));
  print_first(context, forked);
  print_effects(context, forked.effects_after);
  if (is_made)
    context.talk().line("Next: " + context.command("resume " + context.short_id(forked.id.text())));
}

Result<Exit> run_fork(CommandContext& context) {
  auto store = context.open();
  if (!store) return forward(store);
  auto wanted = wanted_of(context);
  if (!wanted) return forward(wanted);
  auto place = find_point(**store, context.given().arguments.front());
  if (!place) return forward(place);
  auto forked = context.given().has("dry-run")
                    ? foresee_fork(**store, place->session.id, place->point,
                                   context.given().has("fresh-effects"))
                    : make_fork(context, *place, *wanted);
  if (!forked) return forward(forked);
  show_fork(context, *place, *forked);
  return Exit::done;
}

}  // namespace

Command fork_command() {
  return {.name = "fork",
          .summary = "Make a new session that shares everything up to a point",
          .details =
              "Nothing is copied, and the old session stays as it is. At a step that asks for "
              "calls, those without\n"
              "an outcome there are listed first: the fork makes them as calls of its own, with "
              "approvals of its\n"
              "own. One that is under way or in doubt in its session is not made: the model is "
              "told so. Then calls\n"
              "that took effect after the point are listed: the fork may make them again. What is "
              "done once for a\n"
              "whole family of sessions is not, unless --fresh-effects says so. What --set changes "
              "counts until the\n"
              "session goes on under a changed agent file; then all of it goes by the file. "
              "Another model is one of\n"
              "the same provider.",
          .arguments = {point_argument},
          .options = {{.name = "title", .value = "TEXT", .summary = "What the fork is called"},
                      {.name = "set",
                       .value = "KEY=VALUE",
                       .summary = "prompt=TEXT, prompt=@FILE or model=NAME",
                       .repeats = true},
                      {.name = "fresh-effects",
                       .summary = "Run once-per-session calls again in the fork"},
                      {.name = "dry-run", .summary = "Only say what it would do"}},
          .opens_store = true,
          .examples = {{"perdure fork ses_7k2m@2.0 --set prompt=@v2.md",
                        "turn 2 again, with another prompt"}},
          .schema = "perdure.fork/1",
          .run = run_fork};
}

}  // namespace perdure::cli
