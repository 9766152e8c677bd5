// A new session that shares everything up to a point. What it would do again is said first.

#include <ranges>

#include "runtime/api/session.hpp"
#include "verbs/table.hpp"

namespace perdure::cli {
namespace {

constexpr std::size_t effects_on_a_screen = 20;

// What the command line says of it.
Result<ForkSpec> spec_given(CommandContext& context) {
  ForkSpec spec{.fresh_effects = context.given().has("fresh-effects")};
  for (const std::string& setting : context.given().all("set")) {
    const auto equals = setting.find('=');
    const std::string key = setting.substr(0, equals);
    if (equals == std::string::npos || (key != "prompt" && key != "model")) {
      return misuse(fmt::format(
          "--set {} makes no sense: write prompt=TEXT, prompt=@FILE or model=NAME", setting));
    }
    auto value = text_or_file(setting.substr(equals + 1), context.io().folder);
    if (!value) return forward(value);
    if (key == "model" && value->empty()) {
      return misuse("--set model= names no model: write model=NAME");
    }
    auto& place = key == "prompt" ? spec.system_prompt : spec.model;
    if (place) return misuse(fmt::format("--set {} is given twice", key));
    place = *std::move(value);
  }
  return spec;
}

// What it is of and how it began is what its parent is of and how that began: it can be resumed and
// found like any other session.
Annotation annotation_for(CommandContext& context, const SessionSummary& parent) {
  const std::string title = parent.title.empty() ? "" : fmt::format("{} (fork)", parent.title);
  return {.title = context.given().find("title").value_or(title),
          .opening = parent.opening,
          .metadata = parent.metadata};
}

std::string_view words_for(const CarriedCall& carried) {
  switch (carried.as) {
    case Carried::replays:
      return "is not made: it was done, and its result is given";
    case Carried::told:
      return "is not made: its outcome is unknown, and the model is told";
    case Carried::refused:
      return "is not made: it was refused when it was asked for";
    case Carried::runs:
      break;
  }
  switch (carried.call.state) {
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

// A line for each; what is left out on a terminal is said.
void print_calls(CommandContext& context, std::string_view heading,
                 const std::vector<std::vector<Piece>>& lines) {
  if (lines.empty()) return;
  const std::size_t most = context.is_terminal() ? effects_on_a_screen : lines.size();
  context.screen().line({{std::string(heading), Ink::yellow}});
  for (const auto& line : lines | std::views::take(most)) context.screen().line(line);
  if (lines.size() <= most) return;
  context.screen().line(
      {{fmt::format("  and {}; --json lists them all", counted(lines.size() - most, "more call")),
        Ink::yellow}});
}

// Under the fork's own names, by which they are allowed, where it has them.
void print_first(CommandContext& context, const Forked& forked) {
  std::vector<std::vector<Piece>> lines;
  for (const CarriedCall& carried : calls_of(forked)) {
    const Call& call = carried.call;
    const std::string name = carried.position != 0 ? call_name(forked.id, carried.position)
                                                   : call_name(call.session, call.position);
    lines.push_back({{fmt::format("  {}  {}  {}  {}", name, call.tool, to_string(call.effect),
                                  words_for(carried))}});
  }
  print_calls(context,
              "The response at the point asks for these; the fork begins with them:", lines);
}

void print_effects(CommandContext& context, const std::vector<Call>& effects) {
  std::vector<std::vector<Piece>> lines;
  for (const Call& call : effects) {
    lines.push_back({{fmt::format("  {}  {}  {}  ", call_name(call.session, call.position),
                                  call.tool, to_string(call.effect))},
                     shown(call.state, context.is_terminal())});
  }
  print_calls(
      context,
      "These took effect after the point, or may have, and the fork may do them again:", lines);
}

void show_fork(CommandContext& context, const PlaceInSession& place, const Forked& forked) {
  Json calls = json_list(calls_of(forked), [](const CarriedCall& carried) {
    return Json::Object{
        {"call", as_json(carried.call)},
        {"fate", to_string(carried.as)},
        {"position", carried.position != 0 ? Json(carried.position) : Json(nullptr)}};
  });
  const bool is_made = !forked.id.empty();
  context.output().document(
      "perdure.fork/1", {{"id", is_made ? Json(forked.id.text()) : Json(nullptr)},
                         {"from", place.name},
                         {"position", forked.position},
                         {"calls", std::move(calls)},
                         {"effects", json_list(forked.effects_after,
                                               [](const Call& call) { return as_json(call); })}});
  const std::string at = fmt::format("{} at position {}", place.name, forked.position);
  context.screen().line(is_made ? fmt::format("Forked {}: {}", at, forked.id.text())
                                : fmt::format("Would fork {}; nothing was done.", at));
  print_first(context, forked);
  print_effects(context, forked.effects_after);
  if (is_made) context.advise_next(context.command("resume " + context.short_id(forked.id.text())));
}

Result<Forked> make_fork(CommandContext& context, const PlaceInSession& place,
                         const ForkSpec& spec) {
  auto runtime = context.worker();
  if (!runtime) return forward(runtime);
  return (*runtime)->fork(place.session.id, place.point, spec);
}

Result<Exit> run_fork(CommandContext& context) {
  auto spec = spec_given(context);
  if (!spec) return forward(spec);
  auto store = context.open();
  if (!store) return forward(store);
  auto place = find_point(**store, context.given().arguments.front());
  if (!place) return forward(place);
  spec->annotation = annotation_for(context, place->session);
  auto forked = context.given().has("dry-run")
                    ? foresee_fork(**store, place->session.id, place->point, spec->fresh_effects)
                    : make_fork(context, *place, *spec);
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
              "calls, those without an outcome there are listed first: the fork makes them as "
              "calls of its own, with approvals of its own. One that is under way or in doubt in "
              "its session is not made: the model is told so. Then calls that took effect after "
              "the point are listed: the fork may make them again. What is done once for a whole "
              "family of sessions is not, unless --fresh-effects says so. What --set changes "
              "counts until the session resumes under a changed agent file; then all of it goes by "
              "the file. Another model is one of the same provider.",
          .arguments = {point_argument},
          .options = {{.name = "title", .value = "TEXT", .summary = "What the fork is called"},
                      {.name = "set",
                       .value = "KEY=VALUE",
                       .summary = "prompt=TEXT, prompt=@FILE or model=NAME",
                       .repeats = true},
                      {.name = "fresh-effects",
                       .summary = "Run once-per-session calls again in the fork"},
                      {.name = "dry-run", .summary = "Only say what it would do"}},
          .examples = {{"perdure fork ses_7k2m@2.0 --set prompt=@v2.md",
                        "turn 2 again, with another prompt"}},
          .schema = "perdure.fork/1",
          .body = {.run = run_fork, .opens_store = true}};
}

}  // namespace perdure::cli
