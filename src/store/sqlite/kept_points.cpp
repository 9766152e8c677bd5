// Checkpoints have no index by place, and need none: as versions rise, so do segment
// and position, because a session never goes back to a segment it has left. So a place
// is found among them by halving.

#include "sqlite/kept_points.hpp"

#include <algorithm>
#include <utility>

namespace perdure::sqlite {
namespace {

std::optional<Position> smaller(std::optional<Position> a, std::optional<Position> b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

std::optional<Position> next_child(Connection& db, SegmentId segment, Position position) {
  Rows rows = db.query(
      "SELECT parent_position FROM segment WHERE parent = ? AND parent_position >= ? "
      "ORDER BY parent_position LIMIT 1",
      segment, position);
  if (!rows.next()) return std::nullopt;
  return rows.number(0);
}

Version newest_version(Connection& db, std::int64_t session) {
  Rows rows = db.query(
      "SELECT version FROM checkpoint WHERE session = ? ORDER BY version DESC LIMIT 1", session);
  return rows.next() ? rows.number(0) : 0;
}

std::optional<Position> next_version(Connection& db, const OwnedSegment& owned, Position position) {
  using Where = std::pair<SegmentId, Position>;
  const Where sought{owned.segment, position};
  std::optional<Where> found;
  // All versions below `low` are before the place; those from `high` on are not.
  Version low = 1;
  Version high = newest_version(db, owned.session) + 1;
  while (low < high) {
    const Version middle = low + (high - low) / 2;
    Rows rows = db.query(
        "SELECT version, segment, position FROM checkpoint "
        "WHERE session = ? AND version >= ? AND version < ? ORDER BY version LIMIT 1",
        owned.session, middle, high);
    if (!rows.next()) {
      high = middle;
      continue;
    }
    const Where there{rows.number(1), rows.number(2)};
    if (there < sought) {
      low = rows.number(0) + 1;
    } else {
      found = there;
      high = middle;
    }
  }
  if (!found || found->first != owned.segment) return std::nullopt;
  return found->second;
}

std::optional<Position> head_from(Connection& db, const OwnedSegment& owned, Position position) {
  Rows rows = db.query("SELECT head FROM session WHERE num = ? AND segment = ?", owned.session,
                       owned.segment);
  if (!rows.next() || rows.number(0) < position) return std::nullopt;
  return rows.number(0);
}

}  // namespace

std::optional<Position> next_kept(Connection& db, const OwnedSegment& owned, Position position) {
  return smaller(next_child(db, owned.segment, position),
                 smaller(next_version(db, owned, position), head_from(db, owned, position)));
}

Position kept_before(Connection& db, const OwnedSegment& owned, Version version,
                     Position position) {
  Position before = 0;
  {
    Rows rows = db.query(
        "SELECT segment, position FROM checkpoint WHERE session = ? AND version < ? "
        "ORDER BY version DESC LIMIT 1",
        owned.session, version);
    if (rows.next() && rows.number(0) == owned.segment) before = rows.number(1);
  }
  Rows rows = db.query(
      "SELECT parent_position FROM segment WHERE parent = ? AND parent_position < ? "
      "ORDER BY parent_position DESC LIMIT 1",
      owned.segment, position);
  return rows.next() ? std::max(before, rows.number(0)) : before;
}

}  // namespace perdure::sqlite
