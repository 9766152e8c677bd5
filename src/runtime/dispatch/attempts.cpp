// A tool's code may outlive our patience: what it uses is its own copy. And on whose behalf a thread
// runs such code.

#include "dispatch/attempts.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <memory>
#include <numeric>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "dispatch/calls.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "runtime/api/operation.hpp"
#include "runtime/api/session.hpp"
#include "runtime/api/state_details.hpp"
#include "store/api/lookup.hpp"
#include "writer/session_writer.hpp"

namespace perdure::dispatch {
namespace {

Duration left(const Clock& clock, Uptime since, Duration time) {
  return std::max(time - (clock.uptime() - since), Duration(0));
}

// In the order in which their time ends: then each can be asked to stop when its own is over.
std::vector<std::size_t> by_timeout(const std::vector<CallView>& calls) {
  std::vector<std::size_t> order(calls.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return calls[i].tool->timeout; });
  return order;
}

// All calls under the key but this one.
Result<std::vector<Call>> others_of(Store& store, const CallView& call) {
  const bool is_alone = call.open.repeat == to_string(Repeat::each_call);
  if (!call.row.key || is_alone) return std::vector<Call>{};
  auto calls = store.lookup().by_key(*call.row.key);
  if (!calls) return calls;
  std::erase_if(*calls, [&](const Call& other) {
    return other.session == call.row.session && other.position == call.row.position;
  });
  return calls;
}

Result<std::string> key_for_vendor(const SessionWriter& writer, const CallView& call) {
  if (!call.row.key) return std::string();
  auto generation = key_generation(writer, call);
  if (!generation) return forward(generation);
  return vendor_key(*call.row.key, *generation);
}

// Nothing if it is not over after `wait`. What throws states nothing.
std::optional<ToolOutcome> outcome_of(Attempt<Result<ToolOutcome>>& attempt, Duration wait) {
  auto said = attempt.wait_for(wait);
  if (!said) return std::nullopt;
  if (*said) return **std::move(said);
  const std::string& why = said->error().message;
  return attempt.has_begun() ? ToolOutcome(Doubtful{why}) : ToolOutcome(Failed{why});
}

}  // namespace

Ended not_begun() { return {.outcome = Failed{"it was not started: the run was stopped"}}; }

Result<std::int64_t> key_generation(const SessionWriter& writer, const CallView& call) {
  const auto open = writer.state().details->open_calls.find(call.call());
  const bool is_begun =
      open != writer.state().details->open_calls.end() && open->second.attempts > 0;
  if (is_begun) return open->second.key_generation;
  auto others = others_of(writer.deps().store, call);
  if (!others) return forward(others);
  std::int64_t failures = call.row.failures;
  for (const Call& other : *others) failures += other.failures;
  return failures;
}

Result<std::unique_ptr<Attempts::Running>> Attempts::start(const CallView& call) {
  auto key = key_for_vendor(writer_, call);
  if (!key) return forward(key);
  const auto code = [tool = *call.tool, args = call.args, session = call.row.session,
                     position = call.call(), key = *std::move(key), lease = writer_.lease(),
                     attempt = call.row.attempts,
                     deadline = writer_.deps().clock.now() + call.tool->timeout](
                        const std::stop_token& stop) -> Result<ToolOutcome> {
    const OnBehalf on_behalf(lease);
    return tool.run({.session = session,
                     .call = position,
                     .args = *args,
                     .key = key,
                     .fence = lease.fence,
                     .attempt = attempt,
                     .deadline = deadline,
                     .stop = stop});
  };
  return std::make_unique<Running>("the tool's `run`", code, writer_.stop_token());
}

Result<std::vector<Ended>> Attempts::run(const std::vector<CallView>& calls,
                                         const std::stop_token& stop) {
  std::vector<Ended> ended;
  if (stop.stop_requested()) {
    ended.resize(calls.size(), not_begun());
    return ended;
  }
  std::vector<std::unique_ptr<Running>> running;
  for (const CallView& call : calls) {
    auto started = start(call);
    if (!started) return forward(started);
    running.push_back(*std::move(started));
  }
  const std::vector<std::optional<Asked>> asked = watch(calls, running, stop);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    ended.push_back(end_of(calls[i], std::move(running[i]), asked[i]));
  }
  return ended;
}

std::vector<std::optional<Attempts::Asked>> Attempts::watch(
    const std::vector<CallView>& calls, const std::vector<std::unique_ptr<Running>>& running,
    const std::stop_token& stop) {
  const std::stop_callback relay(stop, [&running] {
    for (const auto& attempt : running) attempt->request_stop();
  });
  const Clock& clock = writer_.deps().clock;
  const Uptime begin = clock.uptime();
  std::vector<std::optional<Asked>> asked(calls.size());
  for (const std::size_t i : by_timeout(calls)) {
    const Duration timeout = calls[i].tool->timeout;
    if (running[i]->is_over_within(left(clock, begin, timeout), stop)) continue;
    running[i]->request_stop();
    asked[i] = Asked{.at = clock.uptime()};
    if (!stop.stop_requested()) {
      asked[i]->why = fmt::format("no answer within {} ms; ", timeout.count());
    }
  }
  return asked;
}

Ended Attempts::end_of(const CallView& call, std::unique_ptr<Running> running,
                       const std::optional<Asked>& asked) {
  const auto& world = writer_.deps();
  const Duration patience =
      asked ? left(world.clock, asked->at, world.policy.stop_patience) : Duration(0);
  if (auto outcome = outcome_of(*running, patience)) {
    auto* const doubt = std::get_if<Doubtful>(&*outcome);
    if (asked && doubt != nullptr) doubt->why = asked->why + doubt->why;
    return {.outcome = *std::move(outcome)};
  }
  late_[call.call()] = std::move(running);
  return {.outcome = Doubtful{asked->why + "it was asked to stop, and did not"},
          .has_returned = false};
}

Result<Verdict> Attempts::verify(const CallView& call, const std::stop_token& until) {
  auto key = key_for_vendor(writer_, call);
  if (!key) return forward(key);
  auto others = others_of(writer_.deps().store, call);
  if (!others) return forward(others);
  std::vector<Twin> twins;
  for (const Call& other : *others) {
    if (other.settled_at) twins.push_back({other.session, other.position, other.state});
  }
  const auto code = [tool = *call.tool, args = call.args, key = *std::move(key),
                     dispatched_at = call.row.dispatched_at.value_or(Timestamp{}),
                     attempt = call.row.attempts, twins = std::move(twins), lease = writer_.lease(),
                     deadline = writer_.deps().clock.now() + call.tool->verify_timeout](
                        const std::stop_token& stop) -> Result<Verdict> {
    const OnBehalf on_behalf(lease);
    return tool.verify({.args = *args,
                        .key = key,
                        .dispatched_at = dispatched_at,
                        .attempt = attempt,
                        .twins = twins,
                        .deadline = deadline,
                        .stop = stop});
  };
  auto asking = std::make_unique<Asking>("the tool's `verify`", code, writer_.stop_token());
  static_cast<void>(asking->is_over_within(call.tool->verify_timeout, until));
  if (auto answer = asking->wait_for(Duration(0))) {
    return *answer ? **std::move(answer) : Verdict(CannotTell{answer->error().message});
  }
  // It only reads: others may be asked while it does not stop.
  asking->request_stop();
  std::erase_if(unanswered_, [](const auto& given_up) { return given_up->is_over(); });
  unanswered_.push_back(std::move(asking));
  return Verdict(CannotTell{
      fmt::format("verify did not answer within {} ms", call.tool->verify_timeout.count())});
}

Result<std::optional<std::string>> Attempts::end_leftovers(const CallView& call,
                                                           const std::stop_token& until) {
  if (call.tool == nullptr || !call.tool->end_leftovers) return std::nullopt;
  auto key = key_for_vendor(writer_, call);
  if (!key) return forward(key);
  const auto code = [tool = *call.tool, session = call.row.session, position = call.call(),
                     key = *std::move(key),
                     lease = writer_.lease()](const std::stop_token& stop) -> Result<void> {
    const OnBehalf on_behalf(lease);
    return tool.end_leftovers({.session = session, .call = position, .key = key, .stop = stop});
  };
  Attempt<Result<void>> ending("the tool's `end_leftovers`", code, writer_.stop_token());
  const std::stop_callback relay(until, [&ending] { ending.request_stop(); });
  if (const auto ended = ending.wait_for(call.tool->verify_timeout)) {
    return *ended ? std::nullopt : std::optional(ended->error().message);
  }
  return fmt::format("it was not ended within {} ms", call.tool->verify_timeout.count());
}

bool Attempts::wait(std::optional<Duration> patience) {
  if (late_.empty() && unanswered_.empty()) return true;
  const Clock& clock = writer_.deps().clock;
  const Uptime begin = clock.uptime();
  const auto is_over = [&](auto& attempt) {
    if (patience) return attempt.is_over_within(left(clock, begin, *patience), {});
    attempt.wait();
    return true;
  };
  bool are_over = true;
  for (const auto& [call, attempt] : late_) are_over = is_over(*attempt) && are_over;
  for (const auto& asking : unanswered_) are_over = is_over(*asking) && are_over;
  return are_over;
}

std::vector<Position> Attempts::running() const {
  std::vector<Position> calls;
  for (const auto& [call, attempt] : late_) {
    if (!attempt->is_over()) calls.push_back(call);
  }
  return calls;
}

bool Attempts::is_running(Position call) const {
  const auto found = late_.find(call);
  return found != late_.end() && !found->second->is_over();
}

bool Attempts::has_come_back(Position call) const {
  return late_.contains(call) && !is_running(call);
}

std::optional<ToolOutcome> Attempts::take_late(Position call) {
  const auto found = late_.find(call);
  if (found == late_.end()) return std::nullopt;
  auto outcome = outcome_of(*found->second, Duration(0));
  if (outcome) late_.erase(found);
  return outcome;
}

}  // namespace perdure::dispatch

namespace perdure {
namespace {

// A list through the stack of each thread.
thread_local const OnBehalf* innermost = nullptr;

}  // namespace

OnBehalf::OnBehalf(Lease lease)
    : lease_(std::move(lease)), outer_(std::exchange(innermost, this)) {}

OnBehalf::~OnBehalf() { innermost = outer_; }

bool OnBehalf::is_of(const SessionId& session, std::string_view worker) {
  for (const OnBehalf* each = innermost; each != nullptr; each = each->outer_) {
    if (each->lease_.session == session && each->lease_.worker.text() == worker) return true;
  }
  return false;
}

std::optional<Lease> OnBehalf::current() {
  if (innermost == nullptr) return std::nullopt;
  return innermost->lease_;
}

}  // namespace perdure
