// Checkpoints have no index by place, and need none: as versions rise, so do segment
// and position, because a session never goes back to a segment it has left. So a place
// is found among them by halving.

#include "sqlite/kept_points.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "perdure/store/log.hpp"
#include "sqlite/connection.hpp"
#include "sqlite/rows.hpp"

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

using Where = std::pair<SegmentId, Position>;

/// The versions below it are before the place, all others are not.
Version first_not_before(Connection& db, std::int64_t session, const Where& sought) {
  Version low = 1;
  Version high = newest_version(db, session) + 1;
  while (low < high) {
    const Version middle = low + (high - low) / 2;
    Rows rows = db.query(
        "SELECT version, segment, position FROM checkpoint "
        "WHERE session = ? AND version >= ? AND version < ? ORDER BY version LIMIT 1",
        session, middle, high);
    if (rows.next() && Where{rows.number(1), rows.number(2)} < sought) {
      low = rows.number(0) + 1;
    } else {
      high = middle;
    }
  }
  return high;
}

std::optional<Position> next_version(Connection& db, const OwnedSegment& owned, Position position) {
  const Version version = first_not_before(db, owned.session, {owned.segment, position});
  Rows rows = db.query(
      "SELECT segment, position FROM checkpoint WHERE session = ? AND version >= ? "
      "ORDER BY version LIMIT 1",
      owned.session, version);
  if (!rows.next() || rows.number(0) != owned.segment) return std::nullopt;
  return rows.number(1);
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

std::optional<Totals> totals_before(Connection& db, const OwnedSegment& owned, Position position) {
  const Version beyond = first_not_before(db, owned.session, {owned.segment, position + 1});
  Rows rows = db.query(
      "SELECT segment, position, turns, steps, tokens_in, tokens_out, cost_micros FROM checkpoint "
      "WHERE session = ? AND version < ? ORDER BY version DESC LIMIT 1",
      owned.session, beyond);
  if (!rows.next() || rows.number(0) != owned.segment) return std::nullopt;
  return Totals{.position = rows.number(1), .tally = read_tally(rows, 2)};
}

}  // namespace perdure::sqlite
