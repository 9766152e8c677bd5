// What is forgotten, decided once for all backends and apart from any storage.
//
// An entry is seen from its own position on, until the next `replace` entry of its
// channel in the same segment. It goes when no point that is kept is in between.
// Its shadow, the points from which it would have been seen, goes with it: read from
// there, the history would not be what it was. All other points read as before.

#pragma once

#include <cstdint>
#include <limits>
#include <optional>

#include "perdure/core/error.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/upkeep.hpp"
#include "store/api/limits.hpp"

namespace perdure::rules {

/// Beyond all positions: nothing on its segment replaces the entry.
inline constexpr Position never = std::numeric_limits<std::uint32_t>::max();

/// Whether the version stays. `newest_from` is the oldest of the newest `keep.last`.
[[nodiscard]] bool keeps(const Keep& keep, Version newest_from, const Checkpoint& checkpoint);

/// `next_kept`: the first kept point at or after `position`.
[[nodiscard]] bool is_seen(Position position, Position replaced_at,
                           std::optional<Position> next_kept);

/// Entries that were dropped, and the points they took with them: first <= p < upto.
struct Shadow {
  Position first = 0;
  Position upto = 0;
  std::uint64_t entries = 0;
  Tally tally{};

  bool operator==(const Shadow&) const = default;
};

/// They overlap, or one begins where the other ends.
[[nodiscard]] bool touch(const Shadow& a, const Shadow& b);
[[nodiscard]] Shadow join(const Shadow& a, const Shadow& b);

/// Intended, dispatched or in doubt: it can still continue.
[[nodiscard]] bool is_open(CallState state);
/// Whether the entry at `position` must stay for the call's sake.
[[nodiscard]] bool needs(const Call& call, Position position);

/// What is left of a call when its session is removed: that it holds its key.
/// Empty if it holds none.
[[nodiscard]] std::optional<Call> claim_of(const Call& call);

/// Fails: `invalid_argument` below `blob_grace_min`.
[[nodiscard]] Result<void> check_grace(Duration staged_for);

}  // namespace perdure::rules
