// A "no" comes before a question: what is refused is never asked about.

#include "agent/api/call_policy.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "loop/marks.hpp"
#include "perdure/agent/agent.hpp"
#include "perdure/agent/permissions.hpp"
#include "perdure/agent/provider.hpp"
#include "perdure/agent/toolbox.hpp"
#include "perdure/core/json.hpp"
#include "perdure/runtime/conversation.hpp"
#include "perdure/runtime/policy.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"

namespace perdure {
namespace {

using loop::stop_of;

// Arguments that were never written look like none that are needed.
bool may_lack_its_end(const ProposedCall& call) {
  return stop_of(call.response) == StopReason::length &&
         call.block + 1 == call.response.blocks.size();
}

std::string cut_short(const ToolCallBlock& call) {
  return Json(Json::Object{{"error", "cut_short"},
                           {"tool", call.name},
                           {"message",
                            "Your response reached its limit of tokens, and this call may lack its "
                            "end. It was not made. Ask for it again, alone or with less in it."}})
      .text();
}

std::optional<std::string> refusal_for(const AgentSpec& spec, const State& state,
                                       const ProposedCall& proposed) {
  const auto& call = std::get<ToolCallBlock>(proposed.response.blocks[proposed.block]);
  if (may_lack_its_end(proposed)) return cut_short(call);
  const std::size_t in_a_row = proposed.message == 0
                                   ? times_in_a_row(state, proposed.response, proposed.block)
                                   : times_in_a_row(state, proposed.message, proposed.block);
  auto check = check_call(spec.tools, spec.permissions, call, in_a_row);
  if (auto* refused = std::get_if<CallRefused>(&check)) return std::move(refused->text);
  return std::nullopt;
}

bool needs_somebodys_word(const AgentSpec& spec, const Tool& tool, const Json& args) {
  const CheckedTool* checked = spec.tools.find(tool.name);
  if (checked == nullptr || checked->spec.needs_word) return true;
  return decide_permit(spec.permissions, tool, checked->spec.path_args, args).permit !=
         Permit::allow;
}

}  // namespace

Policy make_policy(const AgentSpec& spec) {
  Policy policy{.on_doubt = spec.on_doubt, .cadence = spec.cadence};
  policy.refuse = [&spec](const State& state, const ProposedCall& call) {
    return refusal_for(spec, state, call);
  };
  policy.needs_approval = [&spec](const Tool& tool, const Json& args) {
    return needs_somebodys_word(spec, tool, args);
  };
  return policy;
}

}  // namespace perdure
