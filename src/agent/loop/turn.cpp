// The order within a step matters: first what others want (a pause, an answer), then what was
// started (calls), then again what others want, then what is new (a request).

#include "loop/turn.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <fmt/format.h>
#include <mutex>
#include <optional>
#include <ranges>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <variant>

#include "loop/history.hpp"
#include "models/dialect.hpp"
#include "perdure/agent/agent.hpp"
#include "perdure/agent/provider.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "runtime/api/read.hpp"
#include "runtime/api/records.hpp"
#include "runtime/api/state_details.hpp"
#include "store/api/limits.hpp"
#include "store/api/lookup.hpp"

namespace perdure::loop {
namespace {

constexpr Duration pace = std::chrono::milliseconds(200);
constexpr std::size_t mails_max = 100;

// What may stop a turn in the middle of a step: its caller, its time, mail that pauses or cancels
// the session.
//
// A thread of its own looks at the clock and at the inbox a few times a second; a turn that is over
// sooner costs no look. Nothing is taken in here: the turn that is stopped takes its mail itself.
// The clock that came in judges; the machine's only paces the looks at it.
class Interrupts {
 public:
  enum class By : std::uint8_t { nobody, caller, time, mail };

  struct Parts {
    Clock& clock;
    Store& store;
    SessionId session{};
    std::stop_token caller{};
    std::optional<Duration> time{};  ///< That is left; empty: no limit.
  };
  explicit Interrupts(Parts parts)
      : parts_(std::move(parts)),
        until_(parts_.time ? std::optional(parts_.clock.uptime() + *parts_.time) : std::nullopt),
        relay_(parts_.caller, Relay{this}),
        thread_([this](const std::stop_token& over) { watch(over); }) {}
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  [[nodiscard]] std::stop_token token() const { return stop_.get_token(); }
  /// Who stopped it: the first.
  [[nodiscard]] By by() const { return by_.load(); }

 private:
  struct Relay {
    Interrupts* to;
    void operator()() const { to->stop(By::caller); }
  };

  void stop(By by) {
    By nobody = By::nobody;
    by_.compare_exchange_strong(nobody, by);
    stop_.request_stop();
  }

  void watch(const std::stop_token& over) {
    std::mutex mutex;
    std::condition_variable_any never;
    std::unique_lock lock(mutex);
    while (!stop_.stop_requested()) {
      if (is_late()) return stop(By::time);
      static_cast<void>(never.wait_for(lock, over, until_next_look(), [] { return false; }));
      if (over.stop_requested()) return;
      if (has_mail()) return stop(By::mail);
    }
  }

  [[nodiscard]] Duration until_next_look() const {
    if (!until_) return pace;
    return std::clamp(*until_ - parts_.clock.uptime(), Duration(1), pace);
  }

  [[nodiscard]] bool is_late() const { return until_ && parts_.clock.uptime() >= *until_; }

  // What cannot be read now is read at the next look, or by the turn itself.
  [[nodiscard]] bool has_mail() {
    const auto now = parts_.store.change_number();
    if (!now || seen_ == *now) return false;
    const auto mails = parts_.store.inbox().list(parts_.session, mails_max);
    if (!mails) return false;
    seen_ = *now;
    return std::ranges::any_of(*mails, stops_a_turn);
  }

  const Parts parts_;
  const std::optional<Uptime> until_;
  std::atomic<By> by_{By::nobody};
  std::stop_source stop_;
  std::stop_callback<Relay> relay_;
  std::optional<std::uint64_t> seen_;  ///< The store's number when the inbox was looked at.
  std::jthread thread_;                ///< Last: it uses all of the above, and is waited for first.
};

TurnStop stop_for(const Waiting& waiting) {
  return waiting.what == Waiting::For::decision ? TurnStop::needs_attention : TurnStop::waiting;
}

// A person was asked about a call, and has to decide.
bool waits_for_a_word(const State& state) {
  return std::ranges::any_of(state.details->open_calls, [&](const auto& placed) {
    const OpenCall& call = placed.second;
    return call.attempts == 0 &&
           state.details->approvals.find(call.call, call.args_digest) != nullptr;
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

// What a result is taken to have, at most, when the request that tells it is reserved before it is
// there. Once it is, what the request can cost stays reserved: for no sync if that is less.
constexpr std::int64_t result_tokens_ahead = 8192;

constexpr int http_unauthorised = 401;
constexpr int http_forbidden = 403;

/// A value of the session: which limit it was warned of.
constexpr std::string_view warning_channel = "agent_warning";

std::int64_t calls_in(const Message& message) {
  return std::ranges::count_if(message.blocks, [](const Block& block) {
    return std::holds_alternative<ToolCallBlock>(block);
  });
}

bool was_warned_of(const State& state, std::int64_t limit) {
  const auto found = state.channels.find(warning_channel);
  if (found == state.channels.end() || found->second.empty()) return false;
  const auto said = parse_json(found->second.back().body.bytes());
  const Json* of = said ? said->find("limit") : nullptr;
  return of != nullptr && of->as_int64() == limit;
}

// Rounded up, and never beyond 64 bits on the way.
std::int64_t share_of(std::int64_t limit, std::int64_t percent) {
  return limit / 100 * percent + (limit % 100 * percent + 99) / 100;
}

// A number beyond all reason must not cost the response that it came with.
std::int64_t countable(std::int64_t count) { return std::min(count, tally_max); }

// The most that the request may have cost of whose usage only a part is known: what was sent, as it
// was told if it was, and all that the answer may have.
std::int64_t most_of(const Price& price, const ModelUsage& told, const PreparedRequest& request) {
  if (told.tokens_in == 0) return std::max(cost_of(price, told), reservation_for(price, request));
  ModelUsage most = told;
  most.tokens_out = std::max(told.tokens_out, request.tokens_out);
  return cost_of(price, most);
}

std::string rest_reason(const State& state, TurnStop stop, const Message& response) {
  const std::string words = words_on_rest(state, stop, response);
  if (stop != TurnStop::completed) return fmt::format("{}: {}", to_string(stop), words);
  return words.empty() ? "the next message" : "the next message; the last response: " + words;
}

class Turn {
 public:
  explicit Turn(TurnParts parts)
      : parts_(std::move(parts)),
        began_(parts_.services.sources.clock.uptime()),
        told_(state().transcript.size()),
        told_head_(state().head) {}

  /// `input` has its id and time. Fails: as AgentSession::run.
  [[nodiscard]] Result<TurnReport> run(std::optional<Message> input) {
    input_ = std::move(input);
    const auto& limit = parts_.spec.limits.time;
    if (!input_) used_before_ = time_of(state());
    interrupts_.emplace(
        Interrupts::Parts{.clock = parts_.services.sources.clock,
                          .store = parts_.services.store,
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

 private:
  struct Ending {
    TurnStop stop = TurnStop::completed;
    std::string why{};
    std::optional<Waiting> waiting{};
  };
  /// Empty: it continues.
  using Stepped = Result<std::optional<Ending>>;

  [[nodiscard]] Result<void> begin() {
    Session& session = parts_.session;
    if (has_ended(session.status()) && input_) {
      return fail(ErrorCode::conflict,
                  fmt::format("the session is {}: reopen it first", to_string(session.status())));
    }
    // A run before this one could not record the response.
    if (state().details->request) {
      if (auto given_up = session.abandon_request("its response was not recorded", true);
          !given_up) {
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
  [[nodiscard]] Result<void> put_input_first() {
    Session& session = parts_.session;
    if (!input_ || state().details->open_calls.empty()) return {};
    if (session.status() == Status::waiting && waits_for_a_word(state())) return {};
    auto cancelled = session.cancel_calls(
        "the turn was interrupted before it, and the user has said something since", input_);
    if (!cancelled) return forward(cancelled);
    if (*cancelled > 0) input_.reset();
    return {};
  }

  // The user need not enter it again; unless it may be recorded already. Where nothing can be
  // written any more, the error says so.
  void keep_input(const Error& error) {
    if (!input_ || error.code == ErrorCode::commit_unknown) return;
    [[maybe_unused]] const auto kept = parts_.session.append(*std::exchange(input_, {}));
  }

  [[nodiscard]] Stepped step() {
    if (auto ending = look_around(); !ending || *ending) return ending;
    // A session that has ended is only looked at.
    if (!has_ended(parts_.session.status()) && !state().details->open_calls.empty()) {
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

  [[nodiscard]] Stepped look_around() {
    auto taken = parts_.session.take_inbox();
    if (!taken) return forward(taken);
    const Status status = parts_.session.status();
    if (status == Status::paused || status == Status::cancelled || status == Status::failed) {
      return Ending{TurnStop::interrupted, fmt::format("the session is {}", to_string(status))};
    }
    if (!is_stopped()) return std::nullopt;
    // Nothing is started any more; what was about to start is recorded as not started.
    if (status != Status::completed && !state().details->open_calls.empty()) return run_calls();
    return stopped();
  }

  [[nodiscard]] Stepped run_calls() {
    auto report = parts_.session.run_calls(interrupts_->token());
    if (!report) return forward(report);
    tell_news();
    if (is_stopped()) return stopped();
    if (!report->waiting) return std::nullopt;
    tell(CallWaits{*report->waiting});
    return Ending{stop_for(*report->waiting), report->waiting->why, report->waiting};
  }

  /// How it ends, once it was stopped.
  [[nodiscard]] Stepped stopped() {
    if (interrupts_->by() == Interrupts::By::time) return out_of_time();
    if (auto taken = parts_.session.take_inbox(); !taken) return forward(taken);
    const Status status = parts_.session.status();
    const bool is_at_rest = status == Status::paused || has_ended(status);
    return Ending{TurnStop::interrupted, is_at_rest
                                             ? fmt::format("the session is {}", to_string(status))
                                             : "it was asked to stop"};
  }

  [[nodiscard]] std::optional<Ending> beyond_limits() const {
    const Limits& limits = parts_.spec.limits;
    if (!input_ && iterations_of(state()) >= limits.iterations) {
      return Ending{TurnStop::max_iterations, fmt::format("{} responses", limits.iterations)};
    }
    if (limits.time && used() >= *limits.time) return out_of_time();
    return std::nullopt;
  }

  [[nodiscard]] Ending out_of_time() const {
    return {TurnStop::deadline, fmt::format("{} ms are over", parts_.spec.limits.time->count())};
  }

  [[nodiscard]] Stepped ask_model(std::optional<Message> say) {
    auto prepared = parts_.conversation.prepare(setup(), state(), say);
    if (!prepared) return forward(prepared);
    auto spec = spec_of(*prepared);
    if (!spec) return forward(spec);
    auto asked = parts_.session.record_request(*spec, std::move(say));
    if (!asked && asked.error().code == ErrorCode::conflict && asked.error().subject == "budget") {
      return Ending{TurnStop::budget, asked.error().message};
    }
    if (!asked) return forward(asked);
    input_.reset();
    tell_news();
    RelayObserver relay(
        [this](const auto& what) { parts_.services.watch->tell(parts_.session.id(), what); });
    const ModelOutcome outcome = parts_.conversation.send(relay, interrupts_->token());
    return std::visit([&](const auto& came) { return take(came, *prepared); }, outcome);
  }

  [[nodiscard]] Result<RequestSpec> spec_of(const PreparedRequest& prepared) const {
    RequestSpec spec{.model = setup().model, .digest = prepared.digest};
    const auto known = price();
    if (known) spec.reserve_micros = reservation_for(*known, prepared);
    if (!known && state().budget.totals.limit) {
      return fail(
          ErrorCode::invalid_argument,
          fmt::format("no price is known for {}, so its budget cannot be held: add the model "
                      "to the prices, or remove the budget",
                      setup().model));
    }
    return spec;
  }

  [[nodiscard]] Stepped take(const ModelResponse& response, const PreparedRequest& prepared) {
    AskedAs asked = asked_as();
    if (asked.has_price && response.usage.is_known) {
      asked.counted = {.tokens = countable(response.usage.tokens_in),
                       .bytes = static_cast<std::int64_t>(prepared.bytes)};
    }
    Message message = marked(response, asked);
    // What its provider will not stand by is not acted on, and not sent back as if it were whole.
    if (response.stop == StopReason::refusal && asks_for_calls(message)) message.is_partial = true;
    report_.is_cut_short = response.stop == StopReason::length && !asks_for_calls(message);
    const ResponseExtras extras = extras_for(message, response.usage, prepared);
    auto recorded = record(std::move(message), usage_of(response.usage, prepared), extras);
    if (!recorded) return forward(recorded);
    if (response.stop == StopReason::refusal) {
      return Ending{TurnStop::refused, words_on(TurnStop::refused)};
    }
    return std::nullopt;
  }

  [[nodiscard]] Stepped take(const CutOff& cut, const PreparedRequest& prepared) {
    Message message = marked(cut.so_far, asked_as());
    message.is_partial = true;
    const Usage used = usage_of(cut.so_far.usage, prepared);
    if (auto recorded = record(std::move(message), used, {}); !recorded) return forward(recorded);
    if (cut.was_stopped) return stopped();
    const bool goes_on = cut_offs_of(state()) <= parts_.spec.limits.cut_offs;
    tell(ModelFailed{cut.error.message, goes_on});
    if (goes_on) return std::nullopt;
    return fail_with(cut.error);
  }

  [[nodiscard]] Stepped take(const NotAnswered& failure, const PreparedRequest& /*prepared*/) {
    auto given_up = parts_.session.abandon_request(failure.error.message, failure.may_be_paid);
    if (!given_up) return forward(given_up);
    if (failure.was_stopped) return stopped();
    tell(ModelFailed{failure.error.message, false});
    Error error = failure.error;
    if (failure.status == http_unauthorised || failure.status == http_forbidden) {
      error.subject = "authority";
    }
    return fail_with(error);
  }

  [[nodiscard]] Result<void> record(Message message, const Usage& usage,
                                    const ResponseExtras& extras) {
    ++report_.responses;
    auto recorded = parts_.session.record_response(std::move(message), usage, extras);
    if (!recorded) return forward(recorded);
    tell_news();
    return warn_of_budget();
  }

  // What of the next request can be said before there are results.
  [[nodiscard]] ResponseExtras extras_for(const Message& message, const ModelUsage& usage,
                                          const PreparedRequest& prepared) const {
    ResponseExtras extras;
    const NextStep next = step_after(state(), message);
    if (next.rest) {
      extras.rests = StatusChange{.status = Status::waiting,
                                  .wait_reason = rest_reason(state(), *next.rest, message)};
      return extras;
    }
    extras.goes_on = !asks_for_calls(message);
    const bool is_last = iterations_of(state()) + 1 >= parts_.spec.limits.iterations;
    if (extras.goes_on || is_last || is_stopped()) return extras;
    extras.next_request = RequestSpec{.model = setup().model};
    if (const auto known = price()) {
      PreparedRequest ahead = prepared;
      ahead.tokens_in = std::max(prepared.tokens_in, countable(usage.tokens_in)) +
                        countable(usage.tokens_out) + calls_in(message) * result_tokens_ahead;
      extras.next_request->reserve_micros = reservation_for(*known, ahead);
    }
    return extras;
  }

  // Never below what was paid: of what the provider did not tell, all that it can be is
  // unconfirmed.
  [[nodiscard]] Usage usage_of(const ModelUsage& usage, const PreparedRequest& prepared) const {
    Usage used{.tokens_in = countable(usage.tokens_in), .tokens_out = countable(usage.tokens_out)};
    const auto known = price();
    if (!known) return used;
    used.cost_micros = countable(cost_of(*known, usage));
    if (usage.is_known) return used;
    const std::int64_t most = countable(most_of(*known, usage, prepared));
    used.unconfirmed_micros = std::max<std::int64_t>(0, most - used.cost_micros);
    return used;
  }

  [[nodiscard]] Result<void> warn_of_budget() {
    const BudgetTotals& totals = state().budget.totals;
    if (!totals.limit) return {};
    // Without the request that is written ahead: it is not yet known to be made.
    const std::int64_t used = totals.recorded() - totals.reserved;
    const bool is_much = used >= share_of(*totals.limit, parts_.spec.limits.warn_percent);
    if (!is_much || was_warned_of(state(), *totals.limit)) return {};
    const BudgetWarning warning{.limit_micros = *totals.limit, .used_micros = used};
    const Json::Object said{{"limit", warning.limit_micros}, {"used", warning.used_micros}};
    auto written =
        parts_.session.set(std::string(warning_channel), Body::from_text(Json(said).text()));
    if (!written) return forward(written);
    tell(warning);
    return {};
  }

  /// The session waits, and says why; then the error is returned.
  [[nodiscard]] Stepped fail_with(const Error& error) {
    auto waits = parts_.session.set_status(
        {.status = Status::waiting, .wait_reason = "the model: " + error.message});
    if (!waits) return forward(waits);
    return std::unexpected(error);
  }

  /// Why it rests after the last response, for a person.
  [[nodiscard]] std::string words_on(TurnStop rest) const {
    const Message* response = last_response(state());
    return response != nullptr ? words_on_rest(state(), rest, *response) : std::string();
  }

  [[nodiscard]] Result<TurnReport> end(const Ending& ending) {
    Session& session = parts_.session;
    // Written ahead, and never made.
    if (state().details->request) {
      if (auto given_up = session.abandon_request("it was not made", false); !given_up) {
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
    // The turn may continue later, and has that much less time.
    if (ending.stop == TurnStop::interrupted && is_counted() && !has_ended(session.status())) {
      if (auto written = write_time(); !written) return forward(written);
    }
    tell_news();
    report_.stop = ending.stop;
    report_.why = ending.why;
    report_.waiting = ending.waiting;
    report_.answer = answer_in(state());
    tell(TurnEnded{ending.stop, ending.why});
    return report_;
  }

  [[nodiscard]] Result<void> write_stop(const Ending& ending) {
    const Json::Object stop{{"stop", to_string(ending.stop)}, {"why", ending.why}};
    const StatusChange waits{
        .status = Status::waiting,
        .wait_reason = fmt::format("{}: {}", to_string(ending.stop), ending.why)};
    auto written =
        parts_.session.set(std::string(stop_channel), Body::from_text(Json(stop).text()), waits);
    if (!written) return forward(written);
    return {};
  }

  [[nodiscard]] Result<void> write_time() {
    const Json::Object time{{std::string(used_member), used().count()}};
    auto written =
        parts_.session.set(std::string(time_channel), Body::from_text(Json(time).text()));
    if (!written) return forward(written);
    return {};
  }

  void tell(const AgentEvent& event) {
    parts_.services.watch->tell_event(parts_.session.id(), event);
  }

  /// What was recorded since the last time.
  void tell_news() {
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

  [[nodiscard]] const State& state() const { return parts_.session.state(); }
  [[nodiscard]] const Setup& setup() const { return *state().setup; }
  [[nodiscard]] std::optional<Price> price() const {
    return parts_.spec.prices.find(setup().model);
  }
  [[nodiscard]] bool is_stopped() const { return interrupts_->token().stop_requested(); }
  /// By the turn, in this process and those before it.
  [[nodiscard]] Duration used() const {
    return used_before_ + (parts_.services.sources.clock.uptime() - began_);
  }
  [[nodiscard]] bool is_counted() const { return parts_.spec.limits.time.has_value(); }
  [[nodiscard]] AskedAs asked_as() const {
    return {.model = setup().model,
            .has_price = price().has_value(),
            .used = is_counted() ? std::optional(used()) : std::nullopt};
  }

  const TurnParts parts_;
  const Uptime began_;
  Duration used_before_{0};
  std::optional<Interrupts> interrupts_;  ///< From the beginning of the run.
  std::optional<Message> input_;          ///< Until it is recorded.
  TurnReport report_;
  std::size_t told_;  ///< Messages that the observer knows of.
  Position told_head_;
};

}  // namespace

Result<TurnReport> run_turn(const TurnParts& parts, std::optional<Message> input) {
  return Turn(parts).run(std::move(input));
}

}  // namespace perdure::loop
