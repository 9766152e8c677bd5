// The arrows between a call's states leave traces: attempts, failures, times.

#include "rules/soundness.hpp"

#include <fmt/format.h>
#include <string>

#include "perdure/core/sha256.hpp"
#include "perdure/store/entry.hpp"
#include "perdure/store/ledger.hpp"

namespace perdure::rules {

namespace {

bool was_dispatched(CallState state) {
  return state == CallState::dispatched || state == CallState::succeeded ||
         state == CallState::failed || state == CallState::in_doubt ||
         state == CallState::abandoned;
}

bool is_settled(CallState state) {
  return state != CallState::intended && state != CallState::dispatched;
}

}  // namespace

std::string find_contradiction(const Call& call) {
  const bool dispatched = was_dispatched(call.state);
  if (dispatched != (call.attempts > 0)) {
    return fmt::format("it is {} after {} attempts", to_string(call.state), call.attempts);
  }
  if (dispatched != call.dispatched_at.has_value()) {
    return fmt::format("it is {} and {} a time of dispatch", to_string(call.state),
                       dispatched ? "lacks" : "has");
  }
  if (is_settled(call.state) != call.settled_at.has_value()) {
    return fmt::format("it is {} and {} a time when it was settled", to_string(call.state),
                       call.settled_at ? "has" : "lacks");
  }
  if (call.result && !is_settled(call.state)) {
    return fmt::format("it is {} and has a result", to_string(call.state));
  }
  const bool failed = call.state == CallState::failed;
  // Each attempt fails once at most, and the one that is under way has not.
  if (call.failures < (failed ? 1 : 0) || call.failures > call.attempts ||
      (dispatched && !failed && call.failures == call.attempts)) {
    return fmt::format("it is {} and has failed {} times in {} attempts", to_string(call.state),
                       call.failures, call.attempts);
  }
  return {};
}

Entry lost_entry(SegmentId segment, Position position) {
  Entry entry;
  entry.position = position;
  entry.segment = segment;
  entry.condition = Condition::damaged;
  return entry;
}

bool is_lost(const Entry& entry) {
  return entry.condition == Condition::damaged && entry.hash == Digest{} &&
         entry.body.bytes().empty();
}

}  // namespace perdure::rules
