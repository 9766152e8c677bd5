// Running what was dispatched, and recording it. The outcome of a call and the dispatch of the
// next one are one commit; if another process has taken the next one's key, the outcome is
// committed alone.

#include <algorithm>
#include <cstddef>
#include <fmt/format.h>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "dispatch/attempts.hpp"
#include "dispatch/dispatcher.hpp"
#include "dispatch/records.hpp"
#include "dispatch/view.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/guarded.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/runtime/calls.hpp"
#include "perdure/runtime/policy.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/commit.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "runtime/api/records.hpp"
#include "session/draft.hpp"
#include "session/held_session.hpp"

namespace perdure::dispatch {
namespace {

bool only_read(const std::vector<CallView>& calls) {
  return std::ranges::all_of(calls, &CallView::is_read_only);
}

// What throws changes nothing.
SessionAnswer answer_of(const State& state, const CallView& call) {
  auto answer = guarded("the tool's `answer`",
                        [&] { return call.tool->answer(state, call.call(), *call.args); });
  if (answer) return *std::move(answer);
  return {.content = "This could not be answered: " + answer.error().message, .is_error = true};
}

}  // namespace

bool Dispatcher::is_running(Position call) const {
  return attempts_.is_running(call) ||
         std::ranges::find(started_, call, &CallView::call) != started_.end();
}

void Dispatcher::began(std::vector<CallView> calls) {
  started_ = std::move(calls);
  for (CallView& call : started_) {
    call.row.state = CallState::dispatched;
    call.row.attempts += 1;
    call.row.dispatched_at = held_.world().clock.now();
  }
}

Result<void> Dispatcher::run_started() {
  if (auto may = held_.check_may_act(); !may) return forward(may);
  const std::vector<CallView> calls = std::exchange(started_, {});
  auto ended = attempts_.run(calls, stop_);
  if (!ended) return forward(ended);
  report_.run += calls.size();
  auto recorded = record_all(calls, *ended, !stop_.stop_requested());
  if (!recorded) return forward(recorded);
  if (*recorded) return {};
  recorded = record_all(calls, *ended, false);
  if (!recorded) return forward(recorded);
  return {};
}

// False: a call that was to be dispatched with it could not be: another one has its key, or the policy
// threw when it was asked. What has run is recorded all the same, alone.
Result<bool> Dispatcher::record_all(const std::vector<CallView>& calls,
                                    const std::vector<Ended>& ended, bool with_next) {
  Draft draft = held_.draft();
  std::size_t settled = 0;
  std::size_t in_doubt = 0;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (record(draft, calls[i], ended[i])) {
      ++settled;
    } else if (!calls[i].is_read_only()) {
      ++in_doubt;
    }
  }
  auto rest = open_beside(calls);
  if (!rest) return forward(rest);
  // They follow in order: none before all that came earlier are over, or told of.
  const auto unresolved = std::erase_if(
      *rest, [](const CallView& call) { return call.row.state != CallState::intended; });
  const bool are_settled = settled == calls.size() && unresolved == 0;
  std::vector<CallView> chosen;
  if (with_next && are_settled) {
    auto first = dispatch_first(draft, *rest);
    if (!first) return false;
    chosen = *std::move(first);
  }
  const bool is_last_synced = are_settled && only_read(*rest) && !only_read(calls);
  if (then_ && is_last_synced) then_(draft);
  if (chosen.empty() && only_read(calls)) draft.batch.sync = Sync::later;
  if (held_.world().policy.cadence.at == Cadence::At::call) {
    draft.batch.checkpoint = NewCheckpoint{.reason = "call"};
  }
  auto receipt = held_.commit(std::move(draft));
  const bool is_refused = !receipt && receipt.error().code == ErrorCode::conflict;
  if (is_refused && !chosen.empty()) return false;
  if (!receipt) return forward(receipt);
  report_.in_doubt += in_doubt;
  if (is_last_synced) then_ = nullptr;
  began(std::move(chosen));
  return true;
}

// Whether an attempt before the last one may have taken effect. What only reads has no effect, and
// what its session answers has it with its outcome.
bool Dispatcher::has_unresolved(const CallView& call) const {
  if (call.is_read_only() || (call.tool != nullptr && call.tool->answer)) return false;
  const auto open = held_.state().open_calls.find(call.call());
  const bool is_known = open != held_.state().open_calls.end();
  return call.row.attempts - 1 > (is_known ? open->second.not_landed : 0);
}

// Whether it is settled by that.
bool Dispatcher::record(Draft& draft, const CallView& call, const Ended& ended) {
  Records records(held_, draft);
  const auto fail_with = [&](const std::string& why) {
    records.settle(call, CallState::failed, {.content = why, .is_error = true}, {.why = why});
    return true;
  };
  const bool is_done = std::holds_alternative<Succeeded>(ended.outcome);
  if (is_done && call.tool != nullptr && call.tool->answer) {
    records.answer(call, answer_of(held_.state(), call));
    return true;
  }
  if (const auto* done = std::get_if<Succeeded>(&ended.outcome)) {
    records.settle(call, CallState::succeeded,
                   {.content = done->content, .is_error = done->is_error});
    return true;
  }
  if (const auto* never = std::get_if<Never>(&ended.outcome)) return fail_with(never->why);
  if (const auto* failed = std::get_if<Failed>(&ended.outcome)) {
    if (!has_unresolved(call)) return fail_with(failed->why);
    records.doubt(
        call,
        fmt::format("attempt {} did nothing, but an earlier one may have taken effect: {}",
                    call.row.attempts, failed->why),
        ended.has_returned);
    return false;
  }
  const std::string& why = std::get<Doubtful>(ended.outcome).why;
  const bool is_last = !ended.has_returned || call.tool == nullptr ||
                       call.row.attempts >= call.tool->attempts_max || held_.has_ended();
  if (call.is_read_only() && is_last) return fail_with(why);
  if (call.is_read_only()) {
    // No effect to be in doubt about: it stays dispatched, and a resume runs it again.
    records.evidence(call, why);
  } else {
    records.doubt(call, why, ended.has_returned);
  }
  return false;
}

Result<std::vector<CallView>> Dispatcher::open_beside(const std::vector<CallView>& calls) {
  auto open = open_calls(held_);
  if (!open) return open;
  std::erase_if(*open, [&](const CallView& call) {
    const bool is_told = call.open.is_told && !call.open.is_retried;
    return is_told || std::ranges::find(calls, call.call(), &CallView::call) != calls.end();
  });
  return open;
}

void Dispatcher::ask_approval(Draft& draft, const Waiting& waiting) {
  const auto call = held_.state().open_calls.find(waiting.call);
  if (call == held_.state().open_calls.end()) return;
  const Digest& digest = call->second.args_digest;
  if (held_.state().approvals.find(waiting.call, digest) != nullptr) return;
  const Approval asked{.call = waiting.call,
                       .args_digest = digest,
                       .who = "dispatcher",
                       .why = waiting.why,
                       .at = held_.world().clock.now()};
  draft.add(appending("approvals", std::string(to_string(asked.decision)), to_json(asked)));
}

// The call itself was never made, and the ledger does not change: what is in doubt is what others did.
void Dispatcher::ask_about_claim(Draft& draft, const Waiting& waiting) {
  const auto call = held_.state().open_calls.find(waiting.call);
  if (call == held_.state().open_calls.end() || call->second.doubt == waiting.why) return;
  draft.add(appending("calls", "doubt", to_json(Doubt{.call = waiting.call, .why = waiting.why})));
}

// Nobody will ever know but this process. The model was told already of some that they are in doubt.
Result<void> Dispatcher::record_late() {
  if (!attempts_.has_late()) return {};
  auto calls = open_calls(held_);
  if (!calls) return forward(calls);
  Draft draft = held_.draft();
  for (const CallView& call : *calls) {
    auto late = attempts_.take_late(call.call());
    if (!late || call.open.is_told) continue;
    const bool is_settled = record(draft, call, {.outcome = *std::move(late)});
    const bool waits = held_.status() == Status::waiting;
    if (!is_settled || !waits) continue;
    draft.stand({.status = Status::active},
                {.who = "dispatcher", .why = "a call that it waited for has come back"});
  }
  if (draft.batch.entries.empty()) return {};
  if (auto receipt = held_.commit(std::move(draft)); !receipt) return forward(receipt);
  return {};
}

Result<Dispatcher::Step> Dispatcher::commit(Draft draft) {
  if (auto receipt = held_.commit(std::move(draft)); !receipt) return forward(receipt);
  return Step::went_on;
}

}  // namespace perdure::dispatch
