// A session's own segments divide its positions among them by time: each covers
// those from its first up to the first of the next. Positions below the session's
// first segment are the parent's, as far as the fork shares them.

#include "sqlite/line.hpp"

#include <algorithm>
#include <cstdint>
#include <fmt/format.h>
#include <optional>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/store/entry.hpp"
#include "perdure/store/point.hpp"
#include "rules/moves.hpp"
#include "sqlite/connection.hpp"
#include "sqlite/kept_points.hpp"
#include "sqlite/rows.hpp"
#include "sqlite/scan.hpp"

namespace perdure::sqlite {
namespace {

Part read_part(Connection& db, SegmentId segment, Position last) {
  Rows rows = db.query(sql(select_segment, "WHERE num = ?"), segment);
  if (!rows.next()) {
    throw SqliteError(SQLITE_CORRUPT, fmt::format("segment {} is missing", segment));
  }
  Part part = read_segment(rows);
  part.last = last;
  // A line would have no end: segments are numbered as they are opened.
  if (part.parent && *part.parent >= segment) {
    throw SqliteError(SQLITE_CORRUPT, fmt::format("segment {} comes from a later one", segment));
  }
  return part;
}

// Whether an entry was dropped that would have been seen from there.
bool is_in_shadow(Connection& db, Place place) {
  Rows rows = db.query(
      "SELECT upto FROM pruned WHERE segment = ? AND first <= ? ORDER BY first DESC LIMIT 1",
      place.segment, place.position);
  return rows.next() && place.position < rows.number(0);
}

// The session's own segment that covers the position, or else its oldest one.
SegmentId own_segment(Connection& db, std::int64_t session, Position position) {
  {
    Rows covering = db.query(
        "SELECT num FROM segment WHERE session = ? AND first <= ? ORDER BY first DESC, num DESC "
        "LIMIT 1",
        session, position);
    if (covering.next()) return covering.number(0);
  }
  Rows oldest =
      db.query("SELECT num FROM segment WHERE session = ? ORDER BY first, num LIMIT 1", session);
  if (!oldest.next()) throw SqliteError(SQLITE_CORRUPT, "a session has no segment");
  return oldest.number(0);
}

// Before all entries is where the first one is, or will be.
Part covering_part(Connection& db, std::int64_t session, Position position) {
  const Position sought = std::max<Position>(position, 1);
  Part part = read_part(db, own_segment(db, session, sought), position_max);
  while (sought < part.first && part.parent) {
    part = read_part(db, *part.parent, part.parent_position);
  }
  return part;
}

Result<Place> resolve_position(Connection& db, std::int64_t session, Position position) {
  if (position == 0) return Place{covering_part(db, session, 0).segment, 0};
  const auto place = find_entry(db, session, position);
  if (place && !is_in_shadow(db, *place)) return *place;
  return fail(ErrorCode::not_found,
              fmt::format("the session has no entry at position {}, or it was pruned", position));
}

Tally sum_pruned(Connection& db, SegmentId segment, Position after, Position last) {
  Rows rows = db.query(
      "SELECT sum(turns), sum(steps), sum(tokens_in), sum(tokens_out), sum(cost_micros) "
      "FROM pruned WHERE segment = ? AND first > ? AND first <= ?",
      segment, after, last);
  rows.next();
  return read_tally(rows, 0);
}

Tally sum_entries(Connection& db, SegmentId segment, Position after, Position last) {
  Rows rows = db.query(
      "SELECT sum(turns), sum(steps), sum(tokens_in), sum(tokens_out), sum(cost_micros) "
      "FROM entry WHERE id > ? AND id <= ?",
      entry_key(segment, after), entry_key(segment, last));
  rows.next();
  return read_tally(rows, 0);
}

rules::Moved moved_of(Connection& db, std::int64_t session) {
  Rows rows = db.query("SELECT moved FROM session WHERE num = ?", session);
  return rows.next() ? rules::moved_from(rows.text(0)) : rules::Moved{};
}

}  // namespace

Part read_segment(const Rows& rows) {
  Part part{.segment = rows.number(0),
            .session = rows.integer(1),
            .first = rows.number(2),
            .last = 0,
            .parent = {},
            .parent_position = rows.number(4)};
  if (!rows.is_null(3)) part.parent = rows.number(3);
  return part;
}

std::optional<std::int64_t> find_session(Connection& db, const SessionId& id) {
  try {
    Rows rows = db.query("SELECT num FROM session WHERE id = ?", id.text());
    if (!rows.next()) return std::nullopt;
    return rows.integer(0);
  } catch (const SqliteError& error) {
    if (!error.is_damage()) throw;
  }
  return find_readable_session(db, id);
}

Result<std::int64_t> require_session(Connection& db, const SessionId& id) {
  if (auto found = find_session(db, id)) return *found;
  return fail(ErrorCode::not_found, fmt::format("there is no session {}", id.text()), id.text());
}

Result<std::int64_t> require_here(Connection& db, const SessionId& id) {
  auto number = require_session(db, id);
  if (!number) return number;
  auto here = rules::check_here(id, moved_of(db, *number));
  if (!here) return forward(here);
  return number;
}

bool is_arriving(Connection& db, const SessionId& id) {
  return db.query("SELECT 1 FROM arriving WHERE id = ?", id.text()).next();
}

bool entry_exists(Connection& db, Place place) {
  return db.query("SELECT 1 FROM entry WHERE id = ?", entry_key(place.segment, place.position))
      .next();
}

std::optional<Place> find_entry(Connection& db, std::int64_t session, Position position) {
  // A number beyond all would run into the keys of another segment.
  if (position == 0 || position > position_max) return std::nullopt;
  const Part part = covering_part(db, session, position);
  const Place place{part.segment, position};
  if (position > part.last || !entry_exists(db, place)) return std::nullopt;
  return place;
}

Result<Place> resolve(Connection& db, std::int64_t session, Point point) {
  switch (point.kind()) {
    case Point::Kind::head: {
      Rows rows = db.query("SELECT segment, head FROM session WHERE num = ?", session);
      if (rows.next()) return Place{rows.number(0), rows.number(1)};
      break;
    }
    case Point::Kind::version: {
      Rows rows =
          db.query("SELECT segment, position FROM checkpoint WHERE session = ? AND version = ?",
                   session, point.number());
      if (rows.next()) return Place{rows.number(0), rows.number(1)};
      return fail(ErrorCode::not_found,
                  fmt::format("the session has no version {}", point.number()));
    }
    case Point::Kind::position:
      return resolve_position(db, session, point.number());
  }
  return fail(ErrorCode::not_found, "there is no such session");
}

std::vector<Part> line_to(Connection& db, Place place) {
  std::vector<Part> parts{read_part(db, place.segment, place.position)};
  while (parts.back().parent) {
    const Part& part = parts.back();
    parts.push_back(read_part(db, *part.parent, std::min(part.parent_position, part.last)));
  }
  std::ranges::reverse(parts);
  return parts;
}

Tally tally_at(Connection& db, Place place) {
  Tally tally;
  const auto parts = line_to(db, place);
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    const auto known =
        totals_before(db, {.segment = part->segment, .session = part->session}, part->last);
    const Position after = known ? known->position : 0;
    tally += sum_entries(db, part->segment, after, part->last);
    tally += sum_pruned(db, part->segment, after, part->last);
    if (known) return tally += known->tally;
  }
  return tally;
}

SegmentId open_segment(Connection& db, std::int64_t session, Position first,
                       std::optional<Place> parent) {
  std::optional<SegmentId> above;
  if (parent) above = parent->segment;
  const auto number = static_cast<SegmentId>(next_number(db, "segments"));
  db.run(
      "INSERT INTO segment (num, session, first, parent, parent_position) VALUES (?, ?, ?, ?, ?)",
      number, session, first, above, parent ? parent->position : Position{0});
  return number;
}

}  // namespace perdure::sqlite
