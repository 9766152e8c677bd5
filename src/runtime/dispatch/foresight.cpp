// Asks `decide` and `admission` with what a new owner would know before its first act.

#include "perdure/runtime/foresight.hpp"

#include <optional>
#include <utility>
#include <variant>

#include "dispatch/admission.hpp"
#include "dispatch/decide.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/runtime/conversation.hpp"
#include "perdure/runtime/policy.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"

namespace perdure {
namespace {

Prospect prospect_of(const dispatch::Decision& decision) {
  if (std::holds_alternative<dispatch::RunIt>(decision)) return Prospect::run_again;
  if (std::holds_alternative<dispatch::VerifyIt>(decision)) return Prospect::verify;
  if (std::holds_alternative<dispatch::TellModel>(decision)) return Prospect::tell_model;
  if (std::holds_alternative<dispatch::GiveUp>(decision)) return Prospect::refuse;
  return Prospect::ask;
}

// The dispatcher runs nothing whose arguments cannot be read.
std::optional<Json> args_in(const State& state, const OpenCall& open) {
  const auto text = args_of(state, open);
  auto args = text ? parse_args(*text) : fail(ErrorCode::not_found, "they are gone");
  if (!args || !args->is_object()) return std::nullopt;
  return *std::move(args);
}

}  // namespace

Prospect Foresight::of_intended(const State& state, const OpenCall& open) const {
  const Tool* const tool = tools_.find(open.tool);
  const auto args = args_in(state, open);
  const auto refused = dispatch::by_policy(policy_, state, open);
  if (tool == nullptr || !args || (refused && *refused)) return Prospect::refuse;
  const auto admission = dispatch::by_approval(policy_, state, open, *tool, *args);
  if (!refused || !admission) return Prospect::ask;
  if (std::holds_alternative<dispatch::Refuse>(*admission)) return Prospect::refuse;
  return std::holds_alternative<dispatch::HoldBack>(*admission) ? Prospect::ask : Prospect::run;
}

Prospect Foresight::of(const State& state, const Call& call) const {
  const Tool* tool = tools_.find(call.tool);
  dispatch::CallFacts facts{.state = call.state,
                            .effect = call.effect,
                            .attempts = call.attempts,
                            .maker = dispatch::Maker::gone};
  if (const auto found = state.open_calls.find(call.position); found != state.open_calls.end()) {
    const OpenCall& open = found->second;
    if (!args_in(state, open)) tool = nullptr;
    if (open.is_retried && tool != nullptr) return Prospect::run_again;
    if (open.is_told && !open.is_retried) return Prospect::tell_model;
    if (call.state == CallState::intended) return of_intended(state, open);
    facts.first_dispatch = open.first_attempt;
  }
  if (call.state == CallState::intended) return tool ? Prospect::run : Prospect::refuse;
  return prospect_of(dispatch::decide(facts, tool, policy_.on_doubt, now_));
}

}  // namespace perdure
