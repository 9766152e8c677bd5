// The programs declare no network: a killed program's request is with the world at once, or never
// (world/server.cpp).

#include "agent/task.hpp"

#include <string_view>
#include <utility>

#include "agent/letter.hpp"
#include "agent/order.hpp"
#include "perdure/agent/tools.hpp"
#include "perdure/core/error.hpp"
#include "perdure/runtime/tool.hpp"

namespace perdure::agents {

Result<ToolSpec> make_world_tool(const TaskPlace& place, const WorldTool& kind) {
  ExecSpec exec{.command = {place.program, kind.how, kind.name},
                .environment = {{"WORLD_SOCKET", place.socket},
                                {"WORLD_STEPS", place.steps},
                                {"WORLD_PROGRAMS", place.programs}},
                .state_folder = place.state_folder};
  if (kind.has_verify) exec.verify = {place.program, "verify", kind.name};
  if (kind.name == place.gated && !place.gate.empty()) exec.environment["WORLD_GATE"] = place.gate;
  Tool& tool = exec.spec.tool;
  tool.name = kind.name;
  tool.input_schema =
      R"({"type": "object", "properties": {"op": {"type": "string"}}, "required": ["op"]})";
  tool.side_effects =
      kind.how == "look" ? SideEffects{.read = true} : SideEffects{.write = true, .mutate = true};
  tool.honours_key = kind.how == "keyed";
  tool.repeat = kind.repeat;
  if (kind.repeat != Repeat::each_call) tool.business_key = "/op";
  auto made = make_exec_tool(std::move(exec));
  if (!made || !place.is_unlucky) return made;
  made->tool.run = [run = made->tool.run](const CallContext& call) -> ToolOutcome {
    if (call.attempt == 2) return Failed{"the program did not start"};
    return run(call);
  };
  return made;
}

const Task& task_named(std::string_view name) {
  return name == letter_task().name ? letter_task() : order_task();
}

}  // namespace perdure::agents
