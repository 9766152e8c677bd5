// The arrows between a call's states leave traces: attempts, failures, times.

#include "rules/soundness.hpp"

#include <cstdint>
#include <fmt/format.h>
#include <string>

#include "perdure/core/json.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "rules/stored_session.hpp"

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

bool is_object(const std::string& text) {
  const auto parsed = parse_json(text);
  return parsed && parsed->as_object() != nullptr;
}

bool is_array(const std::string& text) {
  const auto parsed = parse_json(text);
  return parsed && parsed->as_array() != nullptr;
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

std::string find_bad_word(const SummaryWords& words) {
  if (!status_from(words.status)) return fmt::format("its status is '{}'", words.status);
  if (!is_array(words.tags)) return "its tags are not a list";
  if (!is_object(words.metadata)) return "its metadata is not a JSON object";
  const bool is_lineage = words.lineage == "fork" || words.lineage == "child";
  if (is_lineage != words.has_parent) return "it is half a fork or child";
  return {};
}

std::string find_bad_segment(const Part& part, const Part* before, bool is_parent_there) {
  if (before != nullptr && part.first < before->first) return "begins before the one before it";
  if (!part.parent) {
    if (part.first == 1 && part.parent_position == 0) return {};
    return "has no parent and does not begin at position 1";
  }
  if (*part.parent >= part.segment) return "is older than its parent";
  if (part.parent_position >= part.first) return "begins before the point it goes on from";
  if (!is_parent_there) {
    return fmt::format("goes on from segment {}, which is not there", *part.parent);
  }
  return {};
}

bool is_possible(const Tally& tally) {
  for (const std::int64_t part :
       {tally.turns, tally.steps, tally.tokens_in, tally.tokens_out, tally.cost_micros}) {
    if (part > tally_max || part < -tally_max) return false;
  }
  return true;
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
