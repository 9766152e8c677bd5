// What is between two points, of one session or of two.

#include <variant>

#include "runtime/api/read.hpp"
#include "runtime/api/records.hpp"
#include "runtime/api/state_details.hpp"
#include "verbs/table.hpp"

namespace perdure::cli {
namespace {

std::string message_words(const State& state, Position position) {
  const Message* message = find_message(state, position);
  if (message == nullptr) return {};
  std::string words = text_of(*message);
  for (const Block& block : message->blocks) {
    if (const auto* call = std::get_if<ToolCallBlock>(&block))
      words += fmt::format("→ {} {}", call->name, call->args);
    if (const auto* result = std::get_if<ToolResultBlock>(&block))
      words += fmt::format("← {}", result->content);
  }
  return fmt::format("{:<9} {}", to_string(message->role), words);
}

Json value_in(const Json& state, const std::string& part, const std::string& name) {
  const Json* found = state.find(part);
  if (found != nullptr && !name.empty()) found = found->find(name);
  return found == nullptr ? Json(nullptr) : *found;
}

struct Change {
  std::string path;
  Json before;
  Json after;
};

// The changed values, by where they stand in the state.
std::vector<Change> changes_of(const Difference& difference, const Json& a, const Json& b) {
  std::vector<std::pair<std::string, std::string>> places;
  if (difference.is_setup_changed) {
    for (const char* part : {"system_prompt", "model", "parameters", "tools"})
      places.emplace_back("setup", part);
  }
  if (difference.is_plan_changed) places.emplace_back("plan", "");
  if (difference.is_budget_changed) {
    for (const char* part : {"limit", "spent", "unconfirmed", "reserved", "granted"})
      places.emplace_back("budget", part);
  }
  for (const std::string& name : difference.counters) places.emplace_back("counters", name);
  for (const std::string& name : difference.scratchpad) places.emplace_back("scratchpad", name);
  for (const std::string& name : difference.channels) places.emplace_back("channels", name);
  std::vector<Change> changes;
  for (const auto& [part, name] : places) {
    Change change{part + (name.empty() ? "" : "/" + name), value_in(a, part, name),
                  value_in(b, part, name)};
    if (change.before != change.after) changes.push_back(std::move(change));
  }
  return changes;
}

void print_difference(CommandContext& context, const State& a, const State& b,
                      const Difference& difference, const std::vector<Change>& changes) {
  const auto sign = [](const Change& change) {
    return change.before.is_null() ? "+" : change.after.is_null() ? "-" : "~";
  };
  const auto cut = [&](const std::string& text) {
    return context.is_terminal() ? clipped(visible(text), context.screen().columns()) : text;
  };
  for (const Change& change : changes) {
    const auto words = [&](const Json& value) {
      const auto micros = change.path.starts_with("budget/") ? value.as_int64() : std::nullopt;
      return micros ? dollars(*micros) : value.text();
    };
    std::string values = change.before.is_null() ? words(change.after)
                         : change.after.is_null()
                             ? words(change.before)
                             : fmt::format("{} → {}", words(change.before), words(change.after));
    context.screen().line(
        {{cut(fmt::format("{} {}  {}", sign(change), change.path, values)), Ink::yellow}});
  }
  for (const Position position : difference.messages_removed) {
    context.screen().line(
        {{cut(fmt::format("- {:>4} {}", position, message_words(a, position))), Ink::red}});
  }
  for (const Position position : difference.messages_added) {
    context.screen().line(
        {{cut(fmt::format("+ {:>4} {}", position, message_words(b, position))), Ink::green}});
  }
  if (difference.is_empty()) return context.advice().line("No difference.");
  context.screen().line(fmt::format(
      "messages +{} -{}   turns {:+}   steps {:+}   tokens {:+}", difference.messages_added.size(),
      difference.messages_removed.size(), b.totals.turns - a.totals.turns,
      b.totals.steps - a.totals.steps,
      b.totals.tokens_in + b.totals.tokens_out - a.totals.tokens_in - a.totals.tokens_out));
}

Json positions_json(const std::vector<Position>& positions) {
  return json_list(positions, [](Position position) { return Json(position); });
}

Json changes_json(const std::vector<Change>& changes) {
  return json_list(changes, [](const Change& change) {
    return Json::Object{{"path", "/" + change.path},
                        {"before", Json::Object{{"value", change.before}}},
                        {"after", Json::Object{{"value", change.after}}}};
  });
}

Result<Exit> run_diff(CommandContext& context, Store& store) {
  std::vector<State> states;
  std::vector<std::string> names;
  for (const std::string& text : context.given().arguments) {
    auto place = find_point(store, text);
    if (!place) return forward(place);
    auto state = read_state(store, place->session.id, place->point);
    if (!state) return forward(state);
    states.push_back(*std::move(state));
    names.push_back(place->name);
  }
  const Difference difference = diff(states[0], states[1]);
  const auto changes = changes_of(difference, state_json(states[0]), state_json(states[1]));
  context.output().document("perdure.diff/1",
                            {{"a", names[0]},
                             {"b", names[1]},
                             {"messages_added", positions_json(difference.messages_added)},
                             {"messages_removed", positions_json(difference.messages_removed)},
                             {"changes", changes_json(changes)}});
  print_difference(context, states[0], states[1], difference, changes);
  return context.given().has("exit-code") && !difference.is_empty() ? Exit::failed : Exit::done;
}

}  // namespace

Command diff_command() {
  return {.name = "diff",
          .summary = "Compare two points of a session, or two sessions",
          .arguments = {{.name = "A",
                         .summary = "A session, or a point of it",
                         .by = Completes::session},
                        {.name = "B", .summary = "Another one", .by = Completes::session}},
          .options = {{.name = "exit-code", .summary = "End with 1 if there is a difference"}},
          .examples = {{"perdure diff ses_7k2m@1 ses_7k2m@2", "what the second turn changed"}},
          .schema = "perdure.diff/1",
          .body = on_store(run_diff)};
}

}  // namespace perdure::cli
