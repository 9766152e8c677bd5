// A session as data, for a sweep to play: six calls, among them every effect class and every
// repeat rule, each of a business operation of its own.

#pragma once

#include <string>
#include <vector>

#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"
#include "world/tools.hpp"

namespace perdure::world {

struct ScriptedCall {
  EffectClass effect = EffectClass::unsafe;
  Repeat repeat = Repeat::each_call;
  std::string args{};      ///< As the model gives them: JSON.
  std::string reworded{};  ///< The same operation in other words: another JSON, the same op.
  std::string op{};        ///< What the world will count.

  [[nodiscard]] std::string tool() const { return tool_name(effect, repeat); }
  /// How often the operation may take effect.
  [[nodiscard]] int effects_max() const { return effect == EffectClass::read_only ? 0 : 1; }
};

/// In the order in which the model issues them. With a prefix, their operations are those of one
/// session among many.
[[nodiscard]] inline std::vector<ScriptedCall> scripted_calls(const std::string& prefix = {}) {
  using enum EffectClass;
  using enum Repeat;
  std::vector<ScriptedCall> calls = {
      {read_only, each_call, R"({"op":"price-1","of":"a chair"})",
       R"({"op":"price-1","of":"one chair"})", "price-1"},
      {idempotent, each_call, R"({"op":"reserve-1","of":"a chair"})",
       R"({"op":"reserve-1","of":"one chair"})", "reserve-1"},
      {verifiable, once_per_session, R"({"op":"pay-1","cents":4900})",
       R"({"cents":4900,"op":"pay-1","note":"for the chair"})", "pay-1"},
      {unsafe, each_call, R"({"op":"call-carrier-1","when":"monday"})",
       R"({"op":"call-carrier-1","when":"on monday"})", "call-carrier-1"},
      {idempotent, once_per_store, R"({"op":"mail-1","to":"a@example.org"})",
       R"({"op":"mail-1","to":"a@example.org","subject":"Your chair"})", "mail-1"},
      {verifiable, each_call, R"({"op":"book-1","day":"tuesday"})",
       R"({"op":"book-1","day":"tuesday","note":"in the morning"})", "book-1"},
  };
  for (ScriptedCall& call : calls) {
    for (std::string* const text : {&call.args, &call.reworded}) {
      text->insert(text->find(call.op), prefix);
    }
    call.op.insert(0, prefix);
  }
  return calls;
}

}  // namespace perdure::world
