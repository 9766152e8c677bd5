// Lines of history: their segments, the points that are kept, and a scan of their entries.

#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/store/log.hpp"
#include "rules/stored_session.hpp"
#include "sqlite/engine/connection.hpp"

namespace perdure::sqlite {

// From a point of a session to the segments that lead there.

/// The rowid of an entry; segments and positions stay below 2^31 and 2^32.
[[nodiscard]] constexpr std::int64_t entry_key(SegmentId segment, Position position) {
  return static_cast<std::int64_t>(segment << 32U | position);
}
using rules::Part;
using rules::Place;
using rules::position_max;

/// Completed with a WHERE or ORDER clause. `last` is the reader's to say.
inline constexpr std::string_view select_segment =
    "SELECT num, session, first, parent, parent_position FROM segment ";
[[nodiscard]] Part read_segment(const Rows& rows);

[[nodiscard]] std::optional<std::int64_t> find_session(Connection& db, const SessionId& id);
/// Fails: `not_found`.
[[nodiscard]] Result<std::int64_t> require_session(Connection& db, const SessionId& id);
/// Fails: `not_found`; `conflict` if it was moved to another store.
[[nodiscard]] Result<std::int64_t> require_here(Connection& db, const SessionId& id);
/// Whether it is on its way here, and its id taken.
[[nodiscard]] bool is_arriving(Connection& db, const SessionId& id);

/// Where the session's entry at the position is; empty if there is none, or none any more.
[[nodiscard]] std::optional<Place> find_entry(Connection& db, std::int64_t session,
                                              Position position);
[[nodiscard]] bool entry_exists(Connection& db, Place place);

/// Fails: `not_found` for a version or position the session does not have, or that was pruned.
[[nodiscard]] Result<Place> resolve(Connection& db, std::int64_t session, Point point);

/// Oldest first.
[[nodiscard]] std::vector<Part> line_to(Connection& db, Place place);

/// The totals of the line: from the latest checkpoint on it, and the entries since, also
/// those that were pruned.
[[nodiscard]] Tally tally_at(Connection& db, Place place);

/// Opens a segment that continues from `parent`, or a root.
[[nodiscard]] SegmentId open_segment(Connection& db, std::int64_t session, Position first,
                                     std::optional<Place> parent);

// Which points of a segment stay: kept versions, where other segments leave it, and
// the head if a session continues there.

/// A segment, and the number of the session it belongs to, or belonged to.
struct OwnedSegment {
  SegmentId segment = 0;
  std::int64_t session = 0;
};

/// The first kept point at or after `position`.
[[nodiscard]] std::optional<Position> next_kept(Connection& db, const OwnedSegment& owned,
                                                Position position);

/// The point before version `version`, on its segment, that is kept whatever becomes of
/// it; 0 if there is none.
[[nodiscard]] Position kept_before(Connection& db, const OwnedSegment& owned, Version version,
                                   Position position);

// Reading past damage: what is in a table when a plain scan of it fails.
//
// SQLite ends a scan at the first page it cannot read. What is behind that page is
// found by asking for keys one at a time, which is slow, and only done then.

using rules::EntryVisitor;
using rules::Stretch;

/// Calls back for every position of the stretch, in order.
void scan_entries(Connection& db, const Stretch& stretch, const EntryVisitor& visit);

/// Those of the stretch's positions that no `pruned` row accounts for.
[[nodiscard]] std::vector<Stretch> not_pruned(Connection& db, const Stretch& stretch);

/// The numbers of all sessions whose rows can be read, ascending.
[[nodiscard]] std::vector<std::int64_t> readable_sessions(Connection& db);

}  // namespace perdure::sqlite
