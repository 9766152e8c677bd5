// The order within a step matters: first what others want (a pause, an answer), then what is
// begun (calls), then again what others want, then what is new (a request).

#include "loop/turn.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <ranges>
#include <string>
#include <utility>
#include <variant>

#include "loop/interrupts.hpp"
#include "loop/marks.hpp"
#include "loop/next_step.hpp"
#include "perdure/agent/agent.hpp"
#include "perdure/agent/turn.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/calls.hpp"
#include "perdure/runtime/conversation.hpp"
#include "perdure/runtime/session.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/commit.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "runtime/api/records.hpp"

namespace perdure::loop {
namespace {

TurnStop stop_for(const Waiting& waiting) {
  return waiting.what == Waiting::For::decision ? TurnStop::needs_attention : TurnStop::waiting;
}

// Somebody was asked about a call, and it is theirs to say.
bool waits_for_a_word(const State& state) {
  return std::ranges::any_of(state.open_calls, [&](const auto& placed) {
    const OpenCall& call = placed.second;
    return call.attempts == 0 && state.approvals.find(call.call, call.args_digest) != nullptr;
  });
}

const Message* last_response(const State& state) {
  for (const PlacedMessage& placed : std::views::reverse(state.transcript)) {
    if (placed.message.role == Role::assistant) return &placed.message;
  }
  return nullptr;
}

// What was cut off and gone on with is one answer.
std::string answer_in(const State& state) {
  std::string answer;
  bool is_begun = false;
  for (const PlacedMessage& placed : std::views::reverse(state.transcript)) {
    const Message& message = placed.message;
    if (is_begun && nudge_of(message) == cut_off_nudge) continue;
    const bool is_response = message.role == Role::assistant;
    if (is_begun && (!is_response || !message.is_partial)) break;
    if (!is_response) continue;
    answer.insert(0, text_of(message));
    is_begun = true;
  }
  return answer;
}

// Reasons that the runtime, or the commit of the answer, has not written down.
bool is_written_here(TurnStop stop) {
  return stop == TurnStop::max_iterations || stop == TurnStop::deadline ||
         stop == TurnStop::budget || stop == TurnStop::loop;
}

}  // namespace

Turn::Turn(TurnParts parts)
    : parts_(std::move(parts)),
      began_(parts_.services.clock->uptime()),
      told_(state().transcript.size()),
      told_head_(state().head) {}

void Turn::tell(const AgentEvent& event) {
  parts_.services.watch->tell_event(parts_.session.id(), event);
}

void Turn::tell_news() {
  // A rewind leaves fewer.
  for (; told_ < state().transcript.size(); ++told_) {
    for (const Block& block : state().transcript[told_].message.blocks) {
      const auto* result = std::get_if<ToolResultBlock>(&block);
      const auto outcome = result != nullptr ? outcome_of(*result) : std::nullopt;
      if (!outcome) continue;
      tell(CallTold{outcome->call, outcome->state.value_or(CallState::in_doubt), *result});
    }
  }
  if (state().head != told_head_) tell(Recorded{state().head});
  told_head_ = state().head;
}

Result<TurnReport> Turn::run(std::optional<Message> input) {
  input_ = std::move(input);
  const auto& limit = parts_.spec.limits.time;
  if (!input_) used_before_ = time_of(state());
  interrupts_.emplace(
      Interrupts::Parts{.clock = *parts_.services.clock,
                        .store = *parts_.services.store,
                        .session = parts_.session.id(),
                        .caller = parts_.stop,
                        .time = limit ? std::optional(*limit - used_before_) : std::nullopt});
  if (auto begun = begin(); !begun) return forward(begun);
  for (;;) {
    auto ending = step();
    tell_news();
    if (!ending) {
      keep_input(ending.error());
      return forward(ending);
    }
    if (*ending) return end(**ending);
  }
}

// Whoever said it need not say it again; unless it may be recorded already. Where nothing can be
// written any more, the error says so.
void Turn::keep_input(const Error& error) {
  if (!input_ || error.code == ErrorCode::commit_unknown) return;
  [[maybe_unused]] const auto kept = parts_.session.append(*std::exchange(input_, {}));
}

Result<void> Turn::begin() {
  Session& session = parts_.session;
  if (has_ended(session.status()) && input_) {
    return fail(ErrorCode::conflict,
                fmt::format("the session is {}: reopen it first", to_string(session.status())));
  }
  // A run before this one could not record the response.
  if (state().request) {
    if (auto given_up = session.give_up("its response was not recorded", true); !given_up) {
      return given_up;
    }
  }
  if (session.status() == Status::paused) {
    const std::string why = input_ ? "there is a new message" : "it was taken up again";
    if (auto active = session.set_status({.status = Status::active}, {}, why); !active) {
      return active;
    }
  }
  return put_input_first();
}

// "No, don't!" must not come after what it is about.
Result<void> Turn::put_input_first() {
  Session& session = parts_.session;
  if (!input_ || state().open_calls.empty()) return {};
  if (session.status() == Status::waiting && waits_for_a_word(state())) return {};
  auto cancelled = session.cancel_calls(
      "the turn was interrupted before it, and the user has said something since", input_);
  if (!cancelled) return forward(cancelled);
  if (*cancelled > 0) input_.reset();
  return {};
}

Turn::Stepped Turn::look_around() {
  auto taken = parts_.session.take_inbox();
  if (!taken) return forward(taken);
  const Status status = parts_.session.status();
  if (status == Status::paused || status == Status::cancelled || status == Status::failed) {
    return Ending{TurnStop::interrupted, fmt::format("the session is {}", to_string(status))};
  }
  if (!is_stopped()) return std::nullopt;
  // Nothing is begun any more; what was about to begin is recorded as not begun.
  if (status != Status::completed && !state().open_calls.empty()) return run_calls();
  return stopped();
}

Turn::Stepped Turn::stopped() {
  if (interrupts_->by() == Interrupts::By::time) return out_of_time();
  if (auto taken = parts_.session.take_inbox(); !taken) return forward(taken);
  const Status status = parts_.session.status();
  const bool is_at_rest = status == Status::paused || has_ended(status);
  return Ending{TurnStop::interrupted, is_at_rest
                                           ? fmt::format("the session is {}", to_string(status))
                                           : "it was asked to stop"};
}

Turn::Ending Turn::out_of_time() const {
  return {TurnStop::deadline, fmt::format("{} ms are over", parts_.spec.limits.time->count())};
}

Turn::Stepped Turn::run_calls() {
  auto report = parts_.session.run_calls(interrupts_->token());
  if (!report) return forward(report);
  tell_news();
  if (is_stopped()) return stopped();
  if (!report->waiting) return std::nullopt;
  tell(CallWaits{*report->waiting});
  return Ending{stop_for(*report->waiting), report->waiting->why, report->waiting};
}

std::optional<Turn::Ending> Turn::beyond_limits() const {
  const Limits& limits = parts_.spec.limits;
  if (!input_ && iterations_of(state()) >= limits.iterations) {
    return Ending{TurnStop::max_iterations, fmt::format("{} responses", limits.iterations)};
  }
  if (limits.time && used() >= *limits.time) return out_of_time();
  return std::nullopt;
}

Turn::Stepped Turn::step() {
  if (auto ending = look_around(); !ending || *ending) return ending;
  // A session that has ended is only looked at.
  if (!has_ended(parts_.session.status()) && !state().open_calls.empty()) {
    if (auto ending = run_calls(); !ending || *ending) return ending;
    // They may have taken long.
    if (auto ending = look_around(); !ending || *ending) return ending;
  }
  NextStep next = next_step(state());
  if (input_) next = {.say = input_};
  if (next.rest) return Ending{*next.rest, words_on(*next.rest)};
  if (auto ending = beyond_limits()) return ending;
  // It rested until now; this wakes it, at no sync.
  if (parts_.session.status() == Status::waiting) {
    if (auto ending = run_calls(); !ending || *ending) return ending;
  }
  return ask_model(std::move(next.say));
}

Result<void> Turn::write_stop(const Ending& ending) {
  const Json::Object stop{{"stop", to_string(ending.stop)}, {"why", ending.why}};
  const StatusChange waits{
      .status = Status::waiting,
      .wait_reason = fmt::format("{}: {}", to_string(ending.stop), ending.why)};
  auto written =
      parts_.session.set(std::string(stop_channel), Body::from_text(Json(stop).text()), waits);
  if (!written) return forward(written);
  return {};
}

Result<void> Turn::write_time() {
  const Json::Object time{{std::string(used_member), used().count()}};
  auto written = parts_.session.set(std::string(time_channel), Body::from_text(Json(time).text()));
  if (!written) return forward(written);
  return {};
}

std::string Turn::words_on(TurnStop rest) const {
  const Message* response = last_response(state());
  return response != nullptr ? words_on_rest(state(), rest, *response) : std::string();
}

Result<TurnReport> Turn::end(const Ending& ending) {
  Session& session = parts_.session;
  // Written ahead, and never made.
  if (state().request) {
    if (auto given_up = session.give_up("it was not made", false); !given_up) {
      return forward(given_up);
    }
  }
  if (input_) {
    if (auto appended = session.append(*std::exchange(input_, {})); !appended) {
      return forward(appended);
    }
  }
  if (is_written_here(ending.stop)) {
    if (auto written = write_stop(ending); !written) return forward(written);
  }
  // The turn goes on some day, and has so much less time.
  if (ending.stop == TurnStop::interrupted && is_counted() && !has_ended(session.status())) {
    if (auto written = write_time(); !written) return forward(written);
  }
  tell_news();
  report_.stop = ending.stop;
  report_.why = ending.why;
  report_.waiting = ending.waiting;
  report_.head = state().head;
  report_.answer = answer_in(state());
  tell(TurnEnded{ending.stop, ending.why});
  return report_;
}

}  // namespace perdure::loop
