// The programs declare no network: a killed program's request is with the world at once, or never
// (world/server.cpp).

#include "agent/order.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "perdure/agent/exec_tool.hpp"
#include "perdure/agent/toolbox.hpp"
#include "perdure/core/error.hpp"
#include "perdure/runtime/tool.hpp"

namespace perdure::agents {
namespace {

struct Kind {
  std::string name{};
  std::string how{};  ///< As world_program is told.
  bool has_verify = false;
  Repeat repeat = Repeat::each_call;
};

Result<ToolSpec> make_one(const OrderTools& tools, const Kind& kind) {
  ExecSpec exec{.command = {tools.program, kind.how, kind.name},
                .environment = {{"WORLD_SOCKET", tools.socket},
                                {"WORLD_STEPS", tools.steps},
                                {"WORLD_PROGRAMS", tools.programs}},
                .state_folder = tools.state_folder};
  if (kind.has_verify) exec.verify = {tools.program, "verify", kind.name};
  if (kind.name == tools.gated && !tools.gate.empty()) exec.environment["WORLD_GATE"] = tools.gate;
  Tool& tool = exec.spec.tool;
  tool.name = kind.name;
  tool.input_schema =
      R"({"type": "object", "properties": {"op": {"type": "string"}}, "required": ["op"]})";
  tool.side_effects =
      kind.how == "look" ? SideEffects{.read = true} : SideEffects{.write = true, .mutate = true};
  tool.honours_key = kind.how == "keyed";
  tool.repeat = kind.repeat;
  if (kind.repeat != Repeat::each_call) tool.business_key = "/op";
  return make_exec_tool(std::move(exec));
}

}  // namespace

std::string_view order_script() {
  return R"({"responses": [
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
}

Result<Toolbox> make_order_tools(const OrderTools& tools) {
  const std::vector<Kind> kinds = {
      {.name = "price", .how = "look"},
      {.name = "reserve", .how = "keyed"},
      {.name = "pay", .how = "effect", .has_verify = true, .repeat = Repeat::once_per_session},
      {.name = "carrier", .how = "effect"},
      {.name = "mail", .how = "keyed", .repeat = Repeat::once_per_store},
      {.name = "book", .how = "effect", .has_verify = true}};
  std::vector<ToolSpec> specs;
  for (const Kind& kind : kinds) {
    auto made = make_one(tools, kind);
    if (!made) return forward(made);
    specs.push_back(*std::move(made));
  }
  return Toolbox::of(std::move(specs));
}

}  // namespace perdure::agents
