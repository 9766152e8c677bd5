// A tool's code may outlive our patience: what it uses is its own copy.

#include "dispatch/attempts.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <iterator>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "dispatch/attempt.hpp"
#include "dispatch/key.hpp"
#include "dispatch/view.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/entry.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/store.hpp"
#include "session/held_session.hpp"

namespace perdure::dispatch {
namespace {

struct Answer {
  Verdict verdict;
  Answer(Verdict said) : verdict(std::move(said)) {}                      // NOLINT: a wrapper
  Answer(Thrown thrown) : verdict(CannotTell{std::move(thrown.what)}) {}  // NOLINT
};

struct Left {
  std::optional<std::string> why;
  Left(const Result<void>& ended) {  // NOLINT: a wrapper
    if (!ended) why = ended.error().message;
  }
  Left(Thrown thrown) : why(std::move(thrown.what)) {}  // NOLINT
};

// How long calls that run at the same time are waited for: each as long as its own time lasts, all of
// them a while after they were asked to stop.
class Patience {
 public:
  Patience(const Clock& clock, Duration after_stop)
      : clock_(clock), begin_(clock.uptime()), after_stop_(after_stop) {}

  [[nodiscard]] Duration left_of(Duration timeout) const { return left(begin_, timeout); }
  [[nodiscard]] Duration after_stop(Duration timeout) {
    if (!stopped_) stopped_ = clock_.uptime();
    return std::min(left_of(timeout), left(*stopped_, after_stop_));
  }

 private:
  [[nodiscard]] Duration left(Uptime since, Duration time) const {
    return std::max(time - (clock_.uptime() - since), Duration(0));
  }

  const Clock& clock_;
  const Uptime begin_;
  const Duration after_stop_;
  std::optional<Uptime> stopped_;
};

// All calls under the key but this one.
Result<std::vector<Call>> others_of(Store& store, const CallView& call) {
  const bool is_alone = call.open.repeat == to_string(Repeat::each_call);
  if (!call.row.key || is_alone) return std::vector<Call>{};
  auto calls = store.ledger().by_key(*call.row.key);
  if (!calls) return calls;
  std::erase_if(*calls, [&](const Call& other) {
    return other.session == call.row.session && other.position == call.row.position;
  });
  return calls;
}

Result<std::string> key_for_vendor(Store& store, const CallView& call) {
  if (!call.row.key) return std::string();
  auto others = others_of(store, call);
  if (!others) return forward(others);
  std::int64_t failures = call.row.failures;
  for (const Call& other : *others) failures += other.failures;
  return vendor_key(*call.row.key, failures);
}

}  // namespace

Ended not_begun(const CallView& call) {
  const std::string why = "it was not started: the run was stopped";
  if (call.row.attempts > 1) return {.outcome = Doubtful{why}};
  return {.outcome = Failed{why}};
}

Result<std::unique_ptr<Attempts::Running>> Attempts::start(const CallView& call) {
  auto key = key_for_vendor(held_.world().store, call);
  if (!key) return forward(key);
  const auto code = [tool = *call.tool, args = call.args, session = call.row.session,
                     position = call.call(), key = *std::move(key), fence = held_.lease().fence,
                     attempt = call.row.attempts,
                     deadline = held_.world().clock.now() +
                                call.tool->timeout](const std::stop_token& stop) -> Said {
    return tool.run({.session = session,
                     .call = position,
                     .args = *args,
                     .key = key,
                     .fence = fence,
                     .attempt = attempt,
                     .deadline = deadline,
                     .stop = stop});
  };
  return std::make_unique<Running>(code, held_.stop_token());
}

Result<std::vector<Ended>> Attempts::run(const std::vector<CallView>& calls,
                                         const std::stop_token& stop) {
  std::vector<Ended> ended;
  if (stop.stop_requested()) {
    std::ranges::transform(calls, std::back_inserter(ended), not_begun);
    return ended;
  }
  std::vector<std::unique_ptr<Running>> running;
  for (const CallView& call : calls) {
    auto started = start(call);
    if (!started) return forward(started);
    running.push_back(*std::move(started));
  }
  // Not by `running`: what is late leaves it, perhaps while the stop is passed on.
  std::vector<Running*> asked;
  asked.reserve(running.size());
  for (const auto& attempt : running) asked.push_back(attempt.get());
  const std::stop_callback relay(stop, [&asked] {
    for (Running* attempt : asked) attempt->request_stop();
  });
  Patience patience(held_.world().clock, held_.world().policy.stop_patience);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const Duration timeout = calls[i].tool->timeout;
    auto said = running[i]->wait_for(patience.left_of(timeout), stop);
    const bool was_stopped = !said && stop.stop_requested();
    if (was_stopped) said = running[i]->wait_for(patience.after_stop(timeout));
    if (said) {
      ended.push_back({.outcome = std::move(said->outcome)});
      continue;
    }
    running[i]->request_stop();
    late_[calls[i].call()] = std::move(running[i]);
    const std::string why = was_stopped ? std::string("it was asked to stop, and did not")
                                        : fmt::format("no answer within {} ms", timeout.count());
    ended.push_back({.outcome = Doubtful{why}, .has_returned = false});
  }
  return ended;
}

Result<Verdict> Attempts::verify(const CallView& call) {
  auto key = key_for_vendor(held_.world().store, call);
  if (!key) return forward(key);
  auto others = others_of(held_.world().store, call);
  if (!others) return forward(others);
  std::vector<Twin> twins;
  for (const Call& other : *others) {
    if (other.settled_at) twins.push_back({other.session, other.position, other.state});
  }
  const auto code = [tool = *call.tool, args = call.args, key = *std::move(key),
                     dispatched_at = call.row.dispatched_at.value_or(Timestamp{}),
                     attempt = call.row.attempts, twins = std::move(twins),
                     deadline = held_.world().clock.now() +
                                call.tool->verify_timeout](const std::stop_token& stop) -> Answer {
    return tool.verify({.args = *args,
                        .key = key,
                        .dispatched_at = dispatched_at,
                        .attempt = attempt,
                        .twins = twins,
                        .deadline = deadline,
                        .stop = stop});
  };
  Attempt<Answer> asking(code, held_.stop_token());
  if (auto answer = asking.wait_for(call.tool->verify_timeout)) return std::move(answer->verdict);
  return Verdict(CannotTell{
      fmt::format("verify did not answer within {} ms", call.tool->verify_timeout.count())});
}

Result<std::optional<std::string>> Attempts::end_leftovers(const CallView& call) {
  if (call.tool == nullptr || !call.tool->end_leftovers) return std::nullopt;
  auto key = key_for_vendor(held_.world().store, call);
  if (!key) return forward(key);
  const auto code = [tool = *call.tool, session = call.row.session, position = call.call(),
                     key = *std::move(key)](const std::stop_token& stop) -> Left {
    return tool.end_leftovers({.session = session, .call = position, .key = key, .stop = stop});
  };
  Attempt<Left> ending(code, held_.stop_token());
  if (auto left = ending.wait_for(call.tool->verify_timeout)) return std::move(left->why);
  return fmt::format("it was not ended within {} ms", call.tool->verify_timeout.count());
}

bool Attempts::is_running(Position call) const {
  const auto found = late_.find(call);
  return found != late_.end() && !found->second->is_over();
}

std::optional<ToolOutcome> Attempts::take_late(Position call) {
  const auto found = late_.find(call);
  if (found == late_.end() || !found->second->is_over()) return std::nullopt;
  auto said = found->second->wait_for(Duration(0));
  late_.erase(found);
  if (!said) return std::nullopt;
  return std::move(said->outcome);
}

}  // namespace perdure::dispatch
