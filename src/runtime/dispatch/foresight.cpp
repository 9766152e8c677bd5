// Calls `decide` with what a new owner would know before its first act.

#include "perdure/runtime/foresight.hpp"

#include <variant>

#include "dispatch/decide.hpp"
#include "perdure/runtime/approval.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"

namespace perdure {
namespace {

Prospect prospect_of(const dispatch::Decision& decision) {
  if (std::holds_alternative<dispatch::RunIt>(decision)) return Prospect::run_again;
  if (std::holds_alternative<dispatch::VerifyIt>(decision)) return Prospect::verify;
  if (std::holds_alternative<dispatch::TellModel>(decision)) return Prospect::tell_model;
  return Prospect::ask;
}

bool is_asked(const State& state, const OpenCall& open) {
  const Approval* word = state.approvals.find(open.call, open.args_digest);
  return word != nullptr && word->decision == ApprovalDecision::asked;
}

// The dispatcher runs nothing whose arguments cannot be read.
bool has_args(const State& state, const OpenCall& open) {
  const auto text = args_of(state, open);
  return text && parse_args(*text);
}

}  // namespace

Prospect Foresight::of(const State& state, const Call& call) const {
  const Tool* tool = tools_.find(call.tool);
  dispatch::CallFacts facts{.state = call.state,
                            .effect = call.effect,
                            .attempts = call.attempts,
                            .maker = dispatch::Maker::gone};
  if (const auto found = state.open_calls.find(call.position); found != state.open_calls.end()) {
    const OpenCall& open = found->second;
    if (!has_args(state, open)) tool = nullptr;
    if (open.is_retried && tool != nullptr) return Prospect::run_again;
    if (open.is_told && !open.is_retried) return Prospect::tell_model;
    const bool is_held_back = call.state == CallState::intended && is_asked(state, open);
    if (is_held_back && tool != nullptr) return Prospect::ask;
    facts.first_dispatch = open.first_attempt;
  }
  if (call.state == CallState::intended) return tool ? Prospect::run : Prospect::refuse;
  return prospect_of(dispatch::decide(facts, tool, on_doubt_, now_));
}

}  // namespace perdure
