// Dropping what no kept point can see.

#pragma once

#include <cstdint>
#include <set>

#include "memory/state.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/upkeep.hpp"

namespace perdure::memory {

/// Points of the segment that stay: its kept versions, where other segments leave it,
/// and the head if a session goes on there.
[[nodiscard]] std::set<Position> kept_points(const State& state, const SegmentTable& table);

/// Drops the entries with positions in [from, to] that none of those can see.
Pruned sweep(State& state, SegmentTable& table, Position from, Position to);

/// Drops what is left of a session that is removed, but for what forks still need;
/// and so on with removed sessions whose last fork that was. `owner` as in SegmentTable.
Freed clear(State& state, std::uint64_t owner);

}  // namespace perdure::memory
