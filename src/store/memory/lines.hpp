// Finding one's way through segments: from a point to a place, from a place to
// the line that leads there.

#pragma once

#include <optional>
#include <vector>

#include "memory/state.hpp"
#include "perdure/core/error.hpp"
#include "perdure/store/log.hpp"

namespace perdure::memory {

/// Where a line ends: its last segment, and its last position, which may lie in a
/// segment before that one if nothing was added to it.
struct Place {
  SegmentId segment = 0;
  Position position = 0;
};

/// A segment on a line, and how much of it is: positions up to `last`.
struct Stretch {
  const SegmentTable* table = nullptr;
  Position last = 0;
};

/// Fails: `not_found`.
[[nodiscard]] Result<const SessionTable*> find_session(const State& state, const SessionId& id);
[[nodiscard]] Result<SessionTable*> find_session(State& state, const SessionId& id);

[[nodiscard]] Place head_of(const SessionTable& session);

/// The entry, if it was not pruned.
[[nodiscard]] const EntryRow* find_entry(const SegmentTable& table, Position position);

/// Which segment has the session's position, whether or not its entry is still there.
[[nodiscard]] std::optional<Place> locate(const State& state, const SessionTable& session,
                                          Position position);

/// Fails: `not_found` for a version or position that does not exist, or was pruned.
[[nodiscard]] Result<Place> resolve(const State& state, const SessionTable& session, Point point);

/// Oldest first.
[[nodiscard]] std::vector<Stretch> line_to(const State& state, Place place);

/// Whether the line that ends at `place` has an entry at `position`.
[[nodiscard]] bool is_on_line(const State& state, Place place, Position position);

/// The totals of the line that ends there.
[[nodiscard]] Tally total_at(const State& state, Place place);

}  // namespace perdure::memory
