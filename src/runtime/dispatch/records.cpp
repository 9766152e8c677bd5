// The kinds of channel `calls` are those of runtime/api/records.hpp.

#include "dispatch/records.hpp"

#include <cstdint>
#include <fmt/format.h>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "dispatch/view.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/id_source.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/raw_json.hpp"
#include "perdure/runtime/calls.hpp"
#include "perdure/runtime/conversation.hpp"
#include "perdure/runtime/session_values.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "runtime/api/records.hpp"
#include "session/draft.hpp"

namespace perdure::dispatch {

Position Records::add_result(const CallView& call, CallState state, const Told& told) {
  ToolResultBlock block{
      .call_id = call.open.provider_id, .content = told.content, .is_error = told.is_error};
  set_outcome(block, {.call = call.call(), .state = state});
  if (!told.replay_of.empty()) {
    block.unknown.emplace_back("replay_of", RawJson::from_value(Json(told.replay_of)));
  }
  Message message{.id = mint<MessageTag>(held_.world().ids).text(),
                  .role = Role::user,
                  .created_at = held_.world().clock.now()};
  message.blocks.emplace_back(std::move(block));
  NewEntry entry = appending("transcript", "message", to_json(message));
  entry.tally.steps = 1;
  return draft_.add(std::move(entry));
}

void Records::settle(const CallView& call, CallState state, const Told& told,
                     const Reason& reason) {
  const Position result = add_result(call, state, told);
  draft_.batch.calls.emplace_back(Settle{
      .call = call.call(), .state = state, .result = result, .who = reason.who, .why = reason.why});
}

void Records::answer(const CallView& call, const SessionAnswer& answer) {
  for (const SessionChange& change : answer.changes) {
    if (const auto* plan = std::get_if<Plan>(&change)) {
      draft_.add(replacing("plan", "plan", to_json(*plan)));
    } else {
      const auto& note = std::get<ScratchEntry>(change);
      draft_.add(appending("scratchpad", std::string(kind_of(note)), to_json(note)));
    }
  }
  settle(call, CallState::succeeded, {.content = answer.content, .is_error = answer.is_error});
}

void Records::doubt(const CallView& call, const std::string& why, bool has_ended) {
  draft_.add(appending("calls", "doubt",
                       to_json(Doubt{.call = call.call(), .why = why, .has_ended = has_ended})));
  if (call.row.state == CallState::in_doubt) return;
  draft_.batch.calls.emplace_back(
      Settle{.call = call.call(), .state = CallState::in_doubt, .why = why});
}

void Records::tell_doubt(const CallView& call, const std::string& why) {
  add_result(call, CallState::in_doubt,
             {.content = fmt::format("The outcome of this call is unknown: {}. It may have taken "
                                     "effect. Do not make it again.",
                                     why),
              .is_error = true});
}

void Records::dispatch(const CallView& call, std::int64_t key_generation, bool none_landed) {
  if (call.row.state == CallState::dispatched) {
    draft_.batch.calls.emplace_back(Settle{.call = call.call(),
                                           .state = CallState::in_doubt,
                                           .why = "its attempt ended without an answer"});
  }
  draft_.add(appending("calls", "attempt",
                       to_json(Attempted{.call = call.call(),
                                         .number = call.row.attempts + 1,
                                         .worker = held_.lease().worker.text(),
                                         .key_generation = key_generation,
                                         .none_landed = none_landed})));
  const Approval* const word = held_.state().approvals.find(call.call(), call.open.args_digest);
  if (word != nullptr && word->decision == ApprovalDecision::given) {
    Approval used = *word;
    used.decision = ApprovalDecision::used;
    used.at = held_.world().clock.now();
    draft_.add(appending("approvals", std::string(to_string(used.decision)), to_json(used)));
  }
  Dispatch change{.call = call.call()};
  if (call.tool != nullptr) change.deadline = held_.world().clock.now() + call.tool->timeout;
  draft_.batch.calls.emplace_back(change);
}

void Records::evidence(const CallView& call, const std::string& text) {
  draft_.add(appending("calls", "evidence", to_json(Evidence{.call = call.call(), .text = text})));
}

void Records::resolution(const CallView& call, std::string_view decision, const Reason& reason) {
  draft_.add(appending("calls", "resolution",
                       to_json(Resolution{.call = call.call(),
                                          .decision = std::string(decision),
                                          .who = reason.who,
                                          .why = reason.why})));
}

}  // namespace perdure::dispatch
