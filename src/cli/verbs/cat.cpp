// A session as it was at a point: its state, its conversation, or one entry to the byte.

#include <variant>

#include "runtime/api/records.hpp"
#include "store/api/lookup.hpp"
#include "verbs/table.hpp"

namespace perdure::cli {
namespace {

void print_block(CommandContext& context, const Block& block) {
  if (const auto* text = std::get_if<TextBlock>(&block))
    context.screen().text(text->text, Lines::prose);
  if (const auto* call = std::get_if<ToolCallBlock>(&block)) {
    context.screen().line({{fmt::format("→ {} {}", call->name, call->args), Ink::cyan}});
  }
  if (const auto* result = std::get_if<ToolResultBlock>(&block)) {
    context.screen().text(fmt::format("← {}", result->content));
  }
}

void print_messages(CommandContext& context, const State& state) {
  for (const PlacedMessage& placed : state.transcript) {
    context.screen().line(
        {{fmt::format("{} ({})", to_string(placed.message.role), placed.position), Ink::bold}});
    for (const Block& block : placed.message.blocks) print_block(context, block);
    context.screen().line("");
  }
}

// The bytes of the last entry at the point; on a terminal nothing of them acts.
Result<Exit> print_raw(CommandContext& context, Store& store, const PlaceInSession& place) {
  auto last = store.log().read(place.session.id,
                               {.as_of = place.point, .order = Order::newest_first, .limit = 1});
  if (!last) return forward(last);
  if (last->empty()) return fail(ErrorCode::not_found, "the session has no entries");
  const Entry& entry = last->front();
  if (entry.condition == Condition::damaged) {
    return end_with_damage(context, place.session.id, {entry.position});
  }
  if (entry.condition == Condition::erased) {
    return fail(ErrorCode::not_found,
                fmt::format("the body of the entry at position {} was erased", entry.position));
  }
  std::string bytes = entry.body.bytes();
  if (const auto blob = entry.body.blob()) {
    auto whole = store.blobs().get(*blob);
    if (!whole) return forward(whole);
    bytes = *std::move(whole);
  }
  if (context.is_terminal()) {
    context.screen().text(bytes);
  } else {
    context.screen().bytes(bytes);
  }
  return Exit::done;
}

Result<void> check_cat(CommandContext& context) {
  if (!context.given().has("raw") || !context.output().is_json()) return {};
  return misuse("--raw prints bytes, not JSON: perdure log POINT --json has them as JSON");
}

Result<Exit> run_cat(CommandContext& context, Store& store, const PlaceInSession& place) {
  if (context.given().has("raw")) return print_raw(context, store, place);
  auto state = read_state(store, place.session.id, place.point);
  if (!state) return forward(state);
  auto value = value_at(state_json(*state), context.given().find("path").value_or(""));
  if (!value) return forward(value);
  context.output().document(
      "perdure.state/1",
      {{"session", place.session.id.text()}, {"point", place.name}, {"value", *value}});
  if (context.given().has("messages")) {
    print_messages(context, *state);
  } else {
    context.screen().text(json_visible(indented(*value)));
  }
  // What cannot be read is missing in what was printed: the reader must know that it is incomplete.
  return end_with_damage(context, place.session.id, damaged_places(*state));
}

}  // namespace

Command cat_command() {
  return {
      .name = "cat",
      .summary = "Print the state of a session at a point",
      .arguments = {point_argument},
      .options = {{.name = "messages", .summary = "The conversation, as text"},
                  {.name = "path",
                   .value = "POINTER",
                   .summary = "Only what a JSON pointer leads to: /setup/model"},
                  {.name = "raw", .summary = "The bytes of the entry at the point, as they are"}},
      .exits = {Exit::not_found, Exit::damaged, Exit::unsupported},
      .examples = {{"perdure cat @last --messages", "the conversation"},
                   {"perdure cat ses_7k2m@v3 --path /counters", "the counters of version 3"}},
      .schema = "perdure.state/1",
      .check = check_cat,
      .body = on_point(run_cat)};
}

}  // namespace perdure::cli
