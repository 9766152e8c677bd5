// Every effect class and every repeat rule is in it.

#include "agent/order.hpp"

#include <string_view>
#include <utility>
#include <vector>

#include "agent/task.hpp"
#include "perdure/agent/tools.hpp"
#include "perdure/core/error.hpp"
#include "perdure/runtime/tool.hpp"

namespace perdure::agents {
namespace {

constexpr std::string_view order_script = R"({"responses": [
    {"text": "I look.", "usage": {"in": 60, "out": 40}, "calls": [
      {"name": "price", "args": {"op": "price-1", "of": "a chair"}},
      {"name": "price", "args": {"op": "price-2", "of": "a stool"}}]},
    {"reasoning": "First hold it, then pay.", "usage": {"in": 60, "out": 40}, "calls": [
      {"name": "reserve", "args": {"op": "reserve-1"}},
      {"name": "pay", "args": {"op": "pay-1", "cents": 4900}}]},
    {"usage": {"in": 60, "out": 40}, "calls": [
      {"name": "carrier", "args": {"op": "carrier-1", "when": "monday"}}]},
    {"usage": {"in": 60, "out": 40}, "calls": [
      {"name": "pay", "args": {"op": "pay-1", "cents": 4900, "note": "for the chair"}},
      {"name": "mail", "args": {"op": "mail-1", "to": "a@example.org"}}]},
    {"usage": {"in": 60, "out": 40}, "calls": [
      {"name": "book", "args": {"op": "book-1", "day": "tuesday"}}]},
    {"text": "The chair is on its way.", "usage": {"in": 60, "out": 40}}
  ]})";

Result<Toolbox> order_tools(const TaskPlace& place) {
  const std::vector<WorldTool> kinds = {
      {.name = "price", .how = "look"},
      {.name = "reserve", .how = "keyed"},
      {.name = "pay", .how = "effect", .has_verify = true, .repeat = Repeat::once_per_session},
      {.name = "carrier", .how = "effect"},
      {.name = "mail", .how = "keyed", .repeat = Repeat::once_per_store},
      {.name = "book", .how = "effect", .has_verify = true}};
  std::vector<ToolSpec> specs;
  for (const WorldTool& kind : kinds) {
    auto made = make_world_tool(place, kind);
    if (!made) return forward(made);
    specs.push_back(*std::move(made));
  }
  return Toolbox::of(std::move(specs));
}

}  // namespace

const Task& order_task() {
  static const Task task{.name = "order",
                         .script = order_script,
                         .answer = "The chair is on its way.",
                         .responses = order_responses,
                         .ops = {"reserve-1", "pay-1", "carrier-1", "mail-1", "book-1"},
                         .can_ask_again = true,
                         .make_tools = order_tools};
  return task;
}

}  // namespace perdure::agents
