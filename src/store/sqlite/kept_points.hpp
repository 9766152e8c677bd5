// Which points of a segment stay: kept versions, where other segments leave it, and
// the head if a session goes on there.

#pragma once

#include <cstdint>
#include <optional>

#include "perdure/store/log.hpp"
#include "sqlite/connection.hpp"

namespace perdure::sqlite {

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

struct Totals {
  Position position = 0;
  Tally tally{};
};

/// Those of the last version at or before `position`, if it is on the segment.
[[nodiscard]] std::optional<Totals> totals_before(Connection& db, const OwnedSegment& owned,
                                                  Position position);

}  // namespace perdure::sqlite
