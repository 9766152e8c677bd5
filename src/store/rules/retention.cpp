// Shadows join into runs, so that there are few of them however much is dropped: on
// one channel each shadow begins where the one before it ends.

#include "rules/retention.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <optional>

#include "perdure/core/error.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/upkeep.hpp"
#include "rules/calls.hpp"
#include "store/api/limits.hpp"

namespace perdure::rules {

bool keeps(const Keep& keep, Version newest_from, const Checkpoint& checkpoint) {
  if (checkpoint.version >= newest_from) return true;
  if (keep.since && checkpoint.at >= *keep.since) return true;
  if (keep.every != 0 && checkpoint.version % keep.every == 0) return true;
  return keep.labelled && !checkpoint.label.empty();
}

bool is_seen(Position position, Position replaced_at, std::optional<Position> next_kept) {
  return next_kept && *next_kept >= position && *next_kept < replaced_at;
}

bool touch(const Shadow& a, const Shadow& b) { return a.first <= b.upto && b.first <= a.upto; }

Shadow join(const Shadow& a, const Shadow& b) {
  Shadow joined{.first = std::min(a.first, b.first),
                .upto = std::max(a.upto, b.upto),
                .entries = a.entries + b.entries,
                .tally = a.tally};
  joined.tally += b.tally;
  return joined;
}

bool is_open(CallState state) {
  return state == CallState::intended || state == CallState::dispatched ||
         state == CallState::in_doubt;
}

bool needs(const Call& call, Position position) {
  const bool is_result = call.result == position;
  if (is_open(call.state)) {
    return is_result || call.position == position || call.args == position;
  }
  return is_result && call.key && holds_key(call.state);
}

std::optional<Call> claim_of(const Call& call) {
  if (!call.key || !holds_key(call.state)) return std::nullopt;
  Call claim = call;
  claim.args = 0;
  claim.result.reset();
  claim.provider_id.clear();
  claim.deadline.reset();
  claim.who.clear();
  claim.why.clear();
  return claim;
}

Result<void> check_grace(Duration staged_for) {
  if (staged_for >= blob_grace_min) return {};
  return fail(ErrorCode::invalid_argument,
              fmt::format("blobs are kept for at least {} ms after they were put: a commit under "
                          "way may name them",
                          blob_grace_min.count()));
}

}  // namespace perdure::rules
