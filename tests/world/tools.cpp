// What the client says, in the words of a tool. The answer of a call and that of its verify are
// the same text, so that a recovered result can be compared with a direct one.

#include "world/tools.hpp"

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "perdure/core/json.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"
#include "runtime/api/session.hpp"
#include "world/client.hpp"
#include "world/wire.hpp"

namespace perdure::world {
namespace {

ToolOutcome outcome_of(const Reply& reply) {
  if (const auto* answered = std::get_if<Answered>(&reply)) {
    return Succeeded{.content = answered->answer.text()};
  }
  if (const auto* denied = std::get_if<Denied>(&reply)) return Failed{.why = denied->why};
  return Doubtful{.why = std::get<Lost>(reply).why};
}

// No answer, for whatever reason, is no verdict: that nothing was asked says nothing of the call.
Verdict verdict_of(const Reply& reply) {
  if (const auto* denied = std::get_if<Denied>(&reply)) return CannotTell{.why = denied->why};
  if (const auto* lost = std::get_if<Lost>(&reply)) return CannotTell{.why = lost->why};
  const Json& answer = std::get<Answered>(reply).answer;
  if (!flag_of(answer, "landed")) return NotLanded{};
  const Json* const given = answer.find("answer");
  return Landed{.content = given == nullptr ? std::string() : given->text()};
}

ToolOutcome nothing_named() { return Failed{.why = "the arguments name no operation"}; }

Tool mutating(const WorldClient& client, EffectClass effect, Repeat repeat) {
  Tool tool;
  tool.name = tool_name(effect, repeat);
  tool.side_effects = SideEffects{.network = true, .mutate = true};
  tool.honours_key = effect == EffectClass::idempotent;
  tool.repeat = repeat;
  tool.run = [client, name = tool.name, honours_key = tool.honours_key](const CallContext& call) {
    const std::string op = text_of(call.args, "op");
    if (op.empty()) return nothing_named();
    return outcome_of(client.effect(
        {.op = op, .key = call.key, .tool = name, .args = call.args, .honours_key = honours_key},
        call.stop));
  };
  return tool;
}

}  // namespace

std::string tool_name(EffectClass effect, Repeat repeat) {
  return std::string(to_string(effect)) + "_" + std::string(to_string(repeat));
}

Tool read_only(const WorldClient& client, Repeat repeat) {
  Tool tool;
  tool.name = tool_name(EffectClass::read_only, repeat);
  tool.side_effects = SideEffects{.read = true, .network = true};
  tool.repeat = repeat;
  tool.run = [client, name = tool.name](const CallContext& call) {
    const std::string op = text_of(call.args, "op");
    return op.empty() ? nothing_named() : outcome_of(client.look(op, name, call.stop));
  };
  return tool;
}

Tool idempotent(const WorldClient& client, Repeat repeat) {
  return mutating(client, EffectClass::idempotent, repeat);
}

Tool verifiable(const WorldClient& client, Repeat repeat) {
  Tool tool = mutating(client, EffectClass::verifiable, repeat);
  tool.verify = [client](const VerifyContext& call) {
    return verdict_of(client.verify_op(text_of(call.args, "op"), call.stop));
  };
  return tool;
}

Tool unsafe(const WorldClient& client, Repeat repeat) {
  return mutating(client, EffectClass::unsafe, repeat);
}

std::vector<Tool> every_tool(const WorldClient& client) {
  std::vector<Tool> tools;
  for (const Repeat repeat :
       {Repeat::each_call, Repeat::once_per_session, Repeat::once_per_store}) {
    tools.push_back(read_only(client, repeat));
    tools.push_back(idempotent(client, repeat));
    tools.push_back(verifiable(client, repeat));
    tools.push_back(unsafe(client, repeat));
  }
  return tools;
}

}  // namespace perdure::world
