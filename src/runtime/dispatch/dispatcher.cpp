// The loop: run what was dispatched, record it together with the next dispatch, and so on; then
// the calls that an earlier process left.

#include "dispatch/dispatcher.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "dispatch/admission.hpp"
#include "dispatch/attempts.hpp"
#include "dispatch/decide.hpp"
#include "dispatch/records.hpp"
#include "dispatch/view.hpp"
#include "perdure/core/error.hpp"
#include "perdure/runtime/calls.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/commit.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/sessions.hpp"
#include "runtime/api/recorded.hpp"
#include "session/draft.hpp"
#include "session/held_session.hpp"

namespace perdure::dispatch {
namespace {

template <class... F>
struct Cases : F... {
  using F::operator()...;
};

bool is_intended(const CallView& call) { return call.row.state == CallState::intended; }

// One of them claims the key; the other follows, and replays it.
bool shares_a_key(const std::vector<CallView>& chosen, const CallView& call) {
  return call.row.key && std::ranges::any_of(chosen, [&](const CallView& other) {
           return other.row.key == call.row.key;
         });
}

bool is_settled(const CallView& call) {
  return !is_intended(call) && call.row.state != CallState::dispatched &&
         call.row.state != CallState::in_doubt;
}

}  // namespace

Result<std::vector<CallView>> Dispatcher::dispatch_first(Draft& draft,
                                                         const std::vector<CallView>& calls) {
  std::vector<CallView> chosen;
  for (const CallView& call : calls) {
    if (!chosen.empty() && !call.is_read_only()) break;
    if (call.is_put_off || shares_a_key(chosen, call)) break;
    auto admission = admit(held_, call);
    if (!admission && chosen.empty()) return forward(admission);
    if (!admission || !std::holds_alternative<Admit>(*admission)) break;
    if (auto added = add_attempt(draft, call, {}); !added) return forward(added);
    chosen.push_back(call);
    if (!call.is_read_only()) break;
  }
  return chosen;
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
    auto calls = open_calls(held_);
    if (!calls) return forward(calls);
    std::erase_if(*calls, [](const CallView& call) {
      return call.open.is_told && !call.open.is_retried && !is_settled(call);
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
  if (is_settled(first)) return tell_outcome(first);
  if (auto late = attempts_.take_late(first.call())) {
    Draft draft = held_.draft();
    record(draft, first, {.outcome = *std::move(late)});
    return commit(std::move(draft));
  }
  const bool can_run = first.tool != nullptr && first.args;
  if (first.open.is_retried && can_run) return run_again(first, {});
  return recover(first);
}

Result<Dispatcher::Step> Dispatcher::begin(const std::vector<CallView>& calls) {
  const CallView& first = calls.front();
  auto admission = admit(held_, first);
  if (!admission) return forward(admission);
  Draft draft = held_.draft();
  if (const auto* held_back = std::get_if<HoldBack>(&*admission)) {
    return park(held_back->waiting, nullptr);
  }
  if (const auto* refuse = std::get_if<Refuse>(&*admission)) {
    Records(held_, draft)
        .settle(first, CallState::denied, {.content = refuse->why, .is_error = true},
                {.who = "dispatcher", .why = refuse->why});
    ++report_.refused;
    return commit(std::move(draft));
  }
  if (const auto* again = std::get_if<Replay>(&*admission)) {
    const std::string of = call_name(again->of.session, again->of.position);
    Records(held_, draft)
        .settle(
            first, CallState::cancelled,
            {.content = again->content, .is_error = again->is_error, .replay_of = of},
            {.who = "dispatcher", .why = fmt::format("a replay of {}", holder_name(again->of))});
    ++report_.replayed;
    return commit(std::move(draft));
  }
  std::vector<CallView> intended;
  std::ranges::copy_if(calls, std::back_inserter(intended), is_intended);
  auto chosen = dispatch_first(draft, intended);
  if (!chosen) return forward(chosen);
  auto receipt = held_.commit(std::move(draft));
  if (!receipt && lost_a_claim(receipt.error(), *chosen)) return Step::went_on;
  if (!receipt) return forward(receipt);
  began(*std::move(chosen));
  return Step::went_on;
}

// It came to its end on a line that the session has left since, in the middle of this turn.
Result<Dispatcher::Step> Dispatcher::tell_outcome(const CallView& call) {
  auto known = told_result(held_.world().store, call.row);
  if (!known) return forward(known);
  Draft draft = held_.draft();
  Records(held_, draft)
      .tell(call, call.row.state, {.content = known->text, .is_error = known->is_error});
  ++report_.replayed;
  return commit(std::move(draft));
}

CallFacts Dispatcher::facts_of(const CallView& call) {
  CallFacts facts{.state = call.row.state,
                  .effect = call.row.effect,
                  .attempts = call.row.attempts,
                  .first_dispatch = call.open.first_attempt,
                  .doubt = call.open.doubt.value_or("")};
  const bool is_ours = call.open.worker == held_.lease().worker.text();
  const auto& before = held_.before();
  if (attempts_.is_running(call.call())) {
    facts.maker = Maker::running;
  } else if (is_ours || call.open.ended_at) {
    facts.maker = Maker::done;
  } else {
    const bool is_gone = before && before->gone && before->worker.text() == call.open.worker;
    facts.maker = is_gone ? Maker::gone : Maker::unknown;
  }
  // Whoever held it before us could send until we took it; what came back late, until it did. Where no
  // record says when ours came back, it had when we first looked.
  Timestamp ours = held_.world().clock.now();
  if (facts.maker != Maker::running) {
    ours = call.row.settled_at.value_or(
        seen_.try_emplace({call.call(), call.row.attempts}, ours).first->second);
  }
  facts.sent_before = call.open.ended_at.value_or(is_ours ? ours : held_.taken_at());
  const auto verdict = verdicts_.find({call.call(), call.row.attempts});
  if (verdict != verdicts_.end()) {
    facts.verdict = verdict->second.verdict;
    facts.verify_began = verdict->second.began;
  }
  return facts;
}

// An outdated owner would end what its successor runs.
Result<std::optional<std::string>> Dispatcher::end_leftovers(const CallView& call) {
  if (call.tool == nullptr || !call.tool->end_leftovers) return std::nullopt;
  if (auto may = held_.check_may_act(); !may) return forward(may);
  return attempts_.end_leftovers(call, stop_);
}

Result<Dispatcher::Step> Dispatcher::recover(const CallView& call) {
  CallFacts facts = facts_of(call);
  // It came back while we looked: what it says counts.
  if (facts.maker != Maker::running && attempts_.has_come_back(call.call())) return Step::went_on;
  // There is a verdict only of what was ended before.
  if (facts.maker != Maker::running && !facts.verdict) {
    auto left = end_leftovers(call);
    if (!left) return forward(left);
    // What was cut off says nothing: whoever goes on does it again.
    if (*left && stop_.stop_requested()) return Step::went_on;
    facts.left = *std::move(left);
  }
  const Decision decision = decide(facts, call.args ? call.tool : nullptr,
                                   held_.world().policy.on_doubt, held_.world().clock.now());
  return act_on(call, decision);
}

Result<Dispatcher::Step> Dispatcher::act_on(const CallView& call, const Decision& decision) {
  using Stepped = Result<Step>;
  const auto ask = [&](std::string why) -> Stepped {
    return park({.call = call.call(),
                 .tool = call.open.tool,
                 .what = Waiting::For::decision,
                 .why = std::move(why)},
                &call);
  };
  return std::visit(
      Cases{[&](const RunIt& how) -> Stepped { return run_again(call, how); },
            [&](const VerifyIt&) -> Stepped { return ask_verify(call); },
            [&](const WaitFor& wait) -> Stepped {
              if (!wait.until && !attempts_.is_running(call.call())) return ask(wait.why);
              verdicts_.erase({call.call(), call.row.attempts});
              return park({.call = call.call(),
                           .tool = call.open.tool,
                           .what = Waiting::For::time,
                           .why = wait.why,
                           .until = wait.until},
                          &call);
            },
            [&](const SettleAs& settle) -> Stepped {
              Draft draft = held_.draft();
              Records(held_, draft)
                  .settle(call, CallState::succeeded,
                          {.content = settle.landed.content, .is_error = settle.landed.is_error},
                          {.who = "verify", .why = "it took effect"});
              return commit(std::move(draft));
            },
            [&](const AskPerson& question) -> Stepped { return ask(question.why); },
            [&](const TellModel& tell) -> Stepped {
              Draft draft = held_.draft();
              Records records(held_, draft);
              if (!call.open.doubt) records.doubt(call, tell.why, false);
              records.tell_doubt(call, tell.why);
              ++report_.in_doubt;
              return commit(std::move(draft));
            },
            [&](const GiveUp& end) -> Stepped {
              Draft draft = held_.draft();
              record(draft, call, {.outcome = Never{end.why}});
              return commit(std::move(draft));
            }},
      decision);
}

Result<void> Dispatcher::add_attempt(Draft& draft, const CallView& call, const RunIt& how) {
  auto generation = key_generation(held_, call);
  if (!generation) return forward(generation);
  Records(held_, draft).dispatch(call, *generation, how.none_landed);
  return {};
}

Result<Dispatcher::Step> Dispatcher::run_again(const CallView& call, const RunIt& how) {
  if (call.row.attempts > 0) {
    auto objection = find_objection(held_, call);
    if (!objection) return forward(objection);
    if (*objection && call.is_read_only()) return act_on(call, GiveUp{**std::move(objection)});
    if (*objection) return act_on(call, AskPerson{**std::move(objection)});
  }
  Draft draft = held_.draft();
  if (auto added = add_attempt(draft, call, how); !added) return forward(added);
  if (auto receipt = held_.commit(std::move(draft)); !receipt) return forward(receipt);
  if (call.row.attempts > 0) ++report_.retried;
  began({call});
  return Step::went_on;
}

Result<Verdict> Dispatcher::verify(const CallView& call) {
  if (auto may = held_.check_may_act(); !may) return forward(may);
  return attempts_.verify(call, stop_);
}

Result<Dispatcher::Step> Dispatcher::ask_verify(const CallView& call) {
  const Timestamp began = held_.world().clock.now();
  auto verdict = verify(call);
  if (!verdict) return forward(verdict);
  // An answer that was cut off says nothing: whoever goes on asks again.
  if (stop_.stop_requested()) return Step::went_on;
  ++report_.verified;
  verdicts_[{call.call(), call.row.attempts}] = {.verdict = *std::move(verdict), .began = began};
  return Step::went_on;
}

// `in_doubt`: a call of which nobody knows; the log says so, and why.
Result<Dispatcher::Step> Dispatcher::park(const Waiting& waiting, const CallView* in_doubt) {
  Draft draft = held_.draft();
  if (in_doubt != nullptr) {
    ++report_.in_doubt;
    const bool is_news =
        in_doubt->row.state == CallState::dispatched || in_doubt->open.doubt != waiting.why;
    if (is_news)
      Records(held_, draft).doubt(*in_doubt, waiting.why, in_doubt->open.ended_at.has_value());
  }
  if (waiting.what == Waiting::For::approval) ask_approval(draft, waiting);
  if (waiting.what == Waiting::For::decision && in_doubt == nullptr)
    ask_about_claim(draft, waiting);
  if (held_.status() == Status::active || held_.status() == Status::waiting) {
    draft.stand({.status = Status::waiting, .wait_reason = waiting.why, .wake_at = waiting.until},
                {.who = "dispatcher"});
  }
  report_.waiting = waiting;
  if (auto receipt = held_.commit(std::move(draft)); !receipt) return forward(receipt);
  return Step::waits;
}

Result<void> Dispatcher::wake() {
  if (held_.status() != Status::waiting) return {};
  Draft draft = held_.draft();
  draft.stand({.status = Status::active},
              {.who = "dispatcher", .why = "no call is waited for any more"});
  draft.batch.sync = Sync::later;
  if (auto receipt = held_.commit(std::move(draft)); !receipt) return forward(receipt);
  return {};
}

}  // namespace perdure::dispatch
