// Rows and lines of a memory store, as several roles need them.

#pragma once

#include <optional>
#include <vector>

#include "memory/state.hpp"
#include "perdure/core/error.hpp"
#include "perdure/store/log.hpp"
#include "store/api/lookup.hpp"

namespace perdure::memory {

// What several roles do to rows: showing a session with its holder, creating one,
// changing its annotation.

/// Whether it is on its way here, and its id taken.
[[nodiscard]] bool is_arriving(const State& state, const SessionId& id);

[[nodiscard]] bool is_alive(const State& state, const WorkerId& worker, Uptime uptime);

/// Fails: `lease_lost`.
[[nodiscard]] Result<void> require_live(const State& state, const WorkerId& worker, Uptime uptime);

/// The holder that the grant names, as people see it; empty if there is none.
[[nodiscard]] std::optional<Holder> holder_of(const State& state, const Grant& grant,
                                              Uptime uptime);

[[nodiscard]] SessionSummary shown(const State& state, const SessionTable& table, Uptime uptime);

void annotate(SessionSummary& row, const Annotation& part);

/// Opens the next segment of the store, for the session that was `owner`th to be born.
SegmentId open_segment(State& state, Undo& undo, Segment segment, std::uint64_t owner);

/// Fails: `invalid_argument` if the body refers to a blob that is not there.
[[nodiscard]] Result<void> require_blob(const State& state, const Body& body);

/// Adds a session that `rules::check` has passed.
/// Fails: `already_exists`; `not_found` if its origin does not exist.
[[nodiscard]] Result<void> add_session(State& state, Undo& undo, const NewSession& session,
                                       Timestamp now);

// Finding one's way through segments: from a point to a place, from a place to
// the line that leads there.

/// Where a line ends: its last segment, and its last position, which may be in a
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
