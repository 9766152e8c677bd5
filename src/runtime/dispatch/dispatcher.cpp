// The loop: run what was dispatched, record it together with the next dispatch, and so on; then the
// calls that an earlier process left. The outcome of a call and the dispatch of the next one are one
// commit; if another process has taken the next one's key, the outcome is committed alone.

#include "dispatch/dispatcher.hpp"

#include <algorithm>
#include <cstddef>
#include <expected>
#include <fmt/format.h>
#include <iterator>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/api/guarded.hpp"
#include "dispatch/attempts.hpp"
#include "dispatch/calls.hpp"
#include "dispatch/decide.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "runtime/api/operation.hpp"
#include "runtime/api/records.hpp"
#include "runtime/api/session.hpp"
#include "runtime/api/state_details.hpp"
#include "writer/session_writer.hpp"

namespace perdure::dispatch {
namespace {

bool is_intended(const CallView& call) { return call.row.state == CallState::intended; }

// One of them claims the key; the other follows, and replays it.
bool shares_a_key(const std::vector<CallView>& chosen, const CallView& call) {
  return call.row.key && std::ranges::any_of(chosen, [&](const CallView& other) {
           return other.row.key == call.row.key;
         });
}

bool only_read(const std::vector<CallView>& calls) {
  return std::ranges::all_of(calls, &CallView::is_read_only);
}

// What throws changes nothing.
SessionAnswer answer_of(const State& state, const CallView& call) {
  auto answer = guarded("the tool's `answer`", [&] {
    return call.tool->answer->function(state, call.call(), *call.args);
  });
  if (answer) return *std::move(answer);
  return {.content = "This could not be answered: " + answer.error().message, .is_error = true};
}

}  // namespace

Result<std::vector<CallView>> Dispatcher::dispatch_first(Draft& draft,
                                                         const std::vector<CallView>& calls) {
  std::vector<CallView> chosen;
  for (const CallView& call : calls) {
    if (!chosen.empty() && !call.is_read_only()) break;
    if (call.is_put_off || shares_a_key(chosen, call)) break;
    auto facts = read_facts(facts_of(writer_), call);
    if (!facts && chosen.empty()) return forward(facts);
    if (!facts) break;
    Decision decision = decide(*facts);
    if (decision.error && chosen.empty()) return std::unexpected(*std::move(decision.error));
    if (decision.action != CallAction::run) break;
    if (auto added = add_attempt(draft, call, false); !added) return forward(added);
    chosen.push_back(call);
    if (!call.is_read_only()) break;
  }
  return chosen;
}

void Dispatcher::place_next_request(Draft& draft, const std::vector<CallView>& calls) {
  if (only_read(calls)) return;
  next_request_ = std::exchange(draft.next_request, std::nullopt);
}

bool Dispatcher::end(std::optional<Duration> patience) {
  const bool are_over = attempts_.wait(patience);
  [[maybe_unused]] const auto recorded = record_late();  // Else the calls stay in doubt.
  if (are_over) started_.clear();
  return are_over;
}

Result<CallsReport> Dispatcher::run(const std::stop_token& stop) {
  report_ = {};
  stop_ = stop;
  auto ran = run_all();
  stop_ = {};
  if (!ran) return forward(ran);
  return report_;
}

Result<void> Dispatcher::run_all() {
  for (;;) {
    if (!started_.empty()) {
      if (auto ran = run_started(); !ran) return forward(ran);
      continue;
    }
    if (stop_.stop_requested()) return {};
    auto calls = open_calls(writer_);
    if (!calls) return forward(calls);
    std::erase_if(*calls, [](const CallView& call) {
      return call.open.is_told && !call.open.is_retried && !is_settled(call.row.state);
    });
    if (calls->empty()) {
      return wake();
    }
    auto step = advance(*calls);
    if (!step) return forward(step);
    if (*step == Step::waits) return {};
  }
}

Result<Dispatcher::Step> Dispatcher::advance(const std::vector<CallView>& calls) {
  const CallView& first = calls.front();
  if (is_intended(first)) return begin(calls);
  if (is_settled(first.row.state)) return tell_outcome(first);
  if (auto late = attempts_.take_late(first.call())) {
    Draft draft = writer_.draft();
    record(draft, first, {.outcome = *std::move(late)});
    return commit(std::move(draft));
  }
  return go_on_with(first);
}

Result<Dispatcher::Step> Dispatcher::begin(const std::vector<CallView>& calls) {
  Draft draft = writer_.draft();
  std::vector<CallView> intended;
  std::ranges::copy_if(calls, std::back_inserter(intended), is_intended);
  auto chosen = dispatch_first(draft, intended);
  if (!chosen) return forward(chosen);
  if (chosen->empty()) {
    auto facts = read_facts(facts_of(writer_), calls.front());
    if (!facts) return forward(facts);
    return act_on(*facts);
  }
  auto committed = writer_.commit(std::move(draft));
  if (!committed && lost_a_claim(committed.error(), *chosen)) return Step::went_on;
  if (!committed) return forward(committed);
  began(*std::move(chosen));
  return Step::went_on;
}

Result<Dispatcher::Step> Dispatcher::replay(const CallView& call, const Call& holder) {
  auto told = replayed(writer_.deps().store, holder);
  if (!told) return forward(told);
  Draft draft = writer_.draft();
  Records(writer_, draft)
      .settle(call, CallState::cancelled, *told,
              {.who = "dispatcher", .why = fmt::format("a replay of {}", holder_name(holder))});
  ++report_.replayed;
  return commit(std::move(draft));
}

// It came to its end on a line that the session has left since, in the middle of this turn.
Result<Dispatcher::Step> Dispatcher::tell_outcome(const CallView& call) {
  auto known = told_result(writer_.deps().store, call.row);
  if (!known) return forward(known);
  Draft draft = writer_.draft();
  Records(writer_, draft).tell(call, call.row.state, *known);
  ++report_.replayed;
  return commit(std::move(draft));
}

Result<CallFacts> Dispatcher::facts_about(const CallView& call) {
  auto read = read_facts(facts_of(writer_), call);
  if (!read) return read;
  CallFacts& facts = *read;
  const bool is_ours = call.open.worker == writer_.lease().worker.text();
  const auto& before = writer_.before();
  if (attempts_.is_running(call.call())) {
    facts.maker = Maker::running;
  } else if (is_ours || call.open.ended_at) {
    facts.maker = Maker::done;
  } else {
    const bool is_gone = before && before->gone && before->worker.text() == call.open.worker;
    facts.maker = is_gone ? Maker::gone : Maker::unknown;
  }
  // An owner before us could send until we took it; what came back late, until it did. Where no
  // record says when ours came back, it had when we first looked.
  facts.now = writer_.deps().clock.now();  // Reading took its time, the policy's answer too.
  Timestamp ours = facts.now;
  if (facts.maker != Maker::running) {
    ours = call.row.settled_at.value_or(
        seen_.try_emplace({call.call(), call.row.attempts}, ours).first->second);
  }
  facts.sent_before = call.open.ended_at.value_or(is_ours ? ours : writer_.taken_at());
  const auto verdict = verdicts_.find({call.call(), call.row.attempts});
  if (verdict != verdicts_.end()) {
    facts.verdict = verdict->second.verdict;
    facts.verify_began = verdict->second.began;
  }
  return read;
}

// An outdated owner would end what its successor runs.
Result<std::optional<std::string>> Dispatcher::end_leftovers(const CallView& call) {
  if (call.tool == nullptr || !call.tool->end_leftovers) return std::nullopt;
  if (auto may = writer_.check_may_act(); !may) return forward(may);
  return attempts_.end_leftovers(call, stop_);
}

Result<Dispatcher::Step> Dispatcher::go_on_with(const CallView& call) {
  const bool is_decided = call.open.is_retried && call.tool != nullptr && call.args;
  std::optional<std::string> left;
  if (!is_decided && !attempts_.is_running(call.call())) {
    // It came back while we looked: what it says counts.
    if (attempts_.has_come_back(call.call())) return Step::went_on;
    // There is a verdict only of what was ended before.
    if (!verdicts_.contains({call.call(), call.row.attempts})) {
      auto ended = end_leftovers(call);
      if (!ended) return forward(ended);
      // What was cut off says nothing: the next run does it again.
      if (*ended && stop_.stop_requested()) return Step::went_on;
      left = *std::move(ended);
    }
  }
  // Last, and right before what is decided by them: ending takes its time, and what is permitted may
  // change meanwhile.
  auto facts = facts_about(call);
  if (!facts) return forward(facts);
  // It came back while they were read: its outcome counts, and its leftovers were not ended.
  const bool is_over = facts->maker != Maker::running && attempts_.has_come_back(call.call());
  if (!is_decided && is_over) return Step::went_on;
  facts->left = std::move(left);
  return act_on(*facts);
}

Result<Dispatcher::Step> Dispatcher::act_on(const CallFacts& facts) {
  const CallView& call = facts.call;
  Decision decision = decide(facts);
  if (decision.error) return std::unexpected(*std::move(decision.error));
  Waiting waiting{.call = call.call(),
                  .tool = call.open.tool,
                  .what = Waiting::For::decision,
                  .why = decision.why,
                  .until = decision.until};
  Draft draft = writer_.draft();
  Records records(writer_, draft);
  switch (decision.action) {
    case CallAction::run:
      return Step::went_on;  // Since it was looked at first, what kept it from starting has ended.
    case CallAction::replay:
      return replay(call, *facts.holder);
    case CallAction::run_again:
      return run_again(call, decision.none_landed);
    case CallAction::verify:
      return ask_verify(call);
    case CallAction::wait:
      if (decision.until || attempts_.is_running(call.call())) {
        waiting.what = Waiting::For::time;
        verdicts_.erase({call.call(), call.row.attempts});
      }
      return park(call, std::move(waiting));
    case CallAction::ask_approval:
      waiting.what = Waiting::For::approval;
      return park(call, std::move(waiting));
    case CallAction::ask:
      return park(call, std::move(waiting));
    case CallAction::settle:
      records.settle_landed(call, std::get<Landed>(*facts.verdict));
      return commit(std::move(draft));
    case CallAction::tell_model:
      if (!call.open.doubt) records.doubt(call, decision.why);
      records.tell_doubt(call, decision.why);
      ++report_.in_doubt;
      return commit(std::move(draft));
    case CallAction::refuse:
      records.refuse(call, decision.why);
      ++report_.refused;
      return commit(std::move(draft));
    case CallAction::give_up:
      record(draft, call, {.outcome = Never{decision.why}});
      return commit(std::move(draft));
  }
  return Step::waits;
}

Result<void> Dispatcher::add_attempt(Draft& draft, const CallView& call, bool none_landed) {
  auto generation = key_generation(writer_, call);
  if (!generation) return forward(generation);
  Records(writer_, draft).dispatch(call, *generation, none_landed);
  return {};
}

Result<Dispatcher::Step> Dispatcher::run_again(const CallView& call, bool none_landed) {
  Draft draft = writer_.draft();
  if (auto added = add_attempt(draft, call, none_landed); !added) return forward(added);
  if (auto committed = writer_.commit(std::move(draft)); !committed) return forward(committed);
  if (call.row.attempts > 0) ++report_.retried;
  began({call});
  return Step::went_on;
}

Result<Verdict> Dispatcher::verify(const CallView& call) {
  if (auto may = writer_.check_may_act(); !may) return forward(may);
  return attempts_.verify(call, stop_);
}

Result<Dispatcher::Step> Dispatcher::ask_verify(const CallView& call) {
  const Timestamp began = writer_.deps().clock.now();
  auto verdict = verify(call);
  if (!verdict) return forward(verdict);
  // An answer that was cut off says nothing: the next run asks again.
  if (stop_.stop_requested()) return Step::went_on;
  ++report_.verified;
  verdicts_[{call.call(), call.row.attempts}] = {.verdict = *std::move(verdict), .began = began};
  return Step::went_on;
}

Result<Dispatcher::Step> Dispatcher::park(const CallView& call, Waiting waiting) {
  Draft draft = writer_.draft();
  const State& state = writer_.state();
  const bool is_news = call.open.doubt != waiting.why;
  if (!is_intended(call)) {
    ++report_.in_doubt;
    const bool is_written = call.row.state == CallState::in_doubt && !is_news;
    if (!is_written) Records(writer_, draft).doubt(call, waiting.why);
  } else if (waiting.what == Waiting::For::approval) {
    if (state.details->approvals.find(call.call(), call.open.args_digest) == nullptr) {
      const Approval asked{.call = call.call(),
                           .args_digest = call.open.args_digest,
                           .who = "dispatcher",
                           .why = waiting.why,
                           .at = writer_.deps().clock.now()};
      draft.add(entry_of(asked));
    }
  } else if (waiting.what == Waiting::For::decision && is_news) {
    // The call was never made, and the ledger does not change: what is in doubt is what others did.
    draft.add(appending("calls", "doubt", to_json(Doubt{.call = call.call(), .why = waiting.why})));
  }
  if (writer_.status() == Status::active || writer_.status() == Status::waiting) {
    draft.stand({.status = Status::waiting, .wait_reason = waiting.why, .wake_at = waiting.until},
                {.who = "dispatcher"});
  }
  report_.waiting = std::move(waiting);
  if (auto committed = writer_.commit(std::move(draft)); !committed) return forward(committed);
  return Step::waits;
}

Result<void> Dispatcher::wake() {
  if (writer_.status() != Status::waiting) return {};
  Draft draft = writer_.draft();
  draft.stand({.status = Status::active},
              {.who = "dispatcher", .why = "no call is waited for any more"});
  draft.batch.sync = Sync::later;
  return writer_.commit(std::move(draft));
}

bool Dispatcher::is_running(Position call) const {
  return attempts_.is_running(call) ||
         std::ranges::find(started_, call, &CallView::call) != started_.end();
}

void Dispatcher::began(std::vector<CallView> calls) {
  started_ = std::move(calls);
  for (CallView& call : started_) {
    call.row.state = CallState::dispatched;
    call.row.attempts += 1;
    call.row.dispatched_at = writer_.deps().clock.now();
  }
}

Result<void> Dispatcher::run_started() {
  if (auto may = writer_.check_may_act(); !may) return forward(may);
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
  Draft draft = writer_.draft();
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
  if (is_last_synced) draft.next_request = next_request_;
  if (chosen.empty() && only_read(calls)) draft.batch.sync = Sync::later;
  if (writer_.deps().policy.cadence.at == Cadence::At::call) {
    draft.batch.checkpoint = NewCheckpoint{.reason = "call"};
  }
  auto committed = writer_.commit(std::move(draft));
  const bool is_refused = !committed && committed.error().code == ErrorCode::conflict;
  if (is_refused && !chosen.empty()) return false;
  if (!committed) return forward(committed);
  report_.in_doubt += in_doubt;
  if (is_last_synced) next_request_.reset();
  began(std::move(chosen));
  return true;
}

// Whether an attempt before the last one may have taken effect. What only reads has no effect, and
// what its session answers has it with its outcome.
bool Dispatcher::has_unresolved(const CallView& call) const {
  if (call.is_read_only() || (call.tool != nullptr && call.tool->answer)) return false;
  const auto open = writer_.state().details->open_calls.find(call.call());
  const bool is_known = open != writer_.state().details->open_calls.end();
  return call.row.attempts - 1 > (is_known ? open->second.not_landed : 0);
}

// Whether it is settled by that.
bool Dispatcher::record(Draft& draft, const CallView& call, const Ended& ended) {
  Records records(writer_, draft);
  const auto fail_with = [&](const std::string& why) {
    records.settle(call, CallState::failed, {.content = why, .is_error = true}, {.why = why});
    return true;
  };
  const bool is_done = std::holds_alternative<Succeeded>(ended.outcome);
  if (is_done && call.tool != nullptr && call.tool->answer) {
    records.answer(call, answer_of(writer_.state(), call));
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
                       call.row.attempts >= call.tool->attempts_max || writer_.has_ended();
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
  auto open = open_calls(writer_);
  if (!open) return open;
  std::erase_if(*open, [&](const CallView& call) {
    const bool is_told = call.open.is_told && !call.open.is_retried;
    return is_told || std::ranges::find(calls, call.call(), &CallView::call) != calls.end();
  });
  return open;
}

// Only this process knows late outcomes. The model was told already that some are in doubt.
Result<void> Dispatcher::record_late() {
  if (!attempts_.has_late()) return {};
  auto calls = open_calls(writer_);
  if (!calls) return forward(calls);
  Draft draft = writer_.draft();
  for (const CallView& call : *calls) {
    auto late = attempts_.take_late(call.call());
    if (!late || call.open.is_told) continue;
    const bool is_settled = record(draft, call, {.outcome = *std::move(late)});
    const bool waits = writer_.status() == Status::waiting;
    if (!is_settled || !waits) continue;
    draft.stand({.status = Status::active},
                {.who = "dispatcher", .why = "a call that it waited for has come back"});
  }
  return writer_.commit(std::move(draft));
}

Result<Dispatcher::Step> Dispatcher::commit(Draft draft) {
  if (auto committed = writer_.commit(std::move(draft)); !committed) return forward(committed);
  return Step::went_on;
}

Result<std::size_t> Dispatcher::cancel_unbegun(Draft& draft, const std::string& why) {
  auto calls = open_calls(writer_);
  if (!calls) return forward(calls);
  next_request_.reset();
  // Before the commit: what it does not settle is in doubt, and is not run.
  const std::vector<CallView> started = std::exchange(started_, {});
  std::size_t cancelled = started.size();
  for (const CallView& call : started) record(draft, call, not_begun());
  for (const CallView& call : *calls) {
    if (call.row.state != CallState::intended) {
      const bool is_recorded =
          std::ranges::find(started, call.call(), &CallView::call) != started.end();
      if (is_recorded || !call.is_read_only() || is_running(call.call())) continue;
      record(draft, call, {.outcome = Never{fmt::format("This call was stopped: {}.", why)}});
      ++cancelled;
      continue;
    }
    Records(writer_, draft)
        .settle(call, CallState::cancelled,
                {.content = fmt::format("This call was not started: {}.", why), .is_error = true},
                {.who = "dispatcher", .why = why});
    ++cancelled;
  }
  return cancelled;
}

}  // namespace perdure::dispatch
