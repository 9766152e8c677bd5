// Scans, then kept points, then the segments of a line.

#include "sqlite/engine/line.hpp"

#include <algorithm>
#include <cstdint>
#include <fmt/format.h>
#include <optional>
#include <utility>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/store/log.hpp"
#include "rules/moves.hpp"
#include "sqlite/engine/connection.hpp"
#include "sqlite/engine/rows.hpp"

namespace perdure::sqlite {

// A scan that failed continues at the next key that can be read, so that a damaged page
// costs as many probes as it had rows, not as many as the table has.

namespace {

// A counter that is damaged itself must not make a scan endless.
constexpr std::int64_t probes_max = 1 << 22;

std::optional<Entry> probe(Connection& db, SegmentId segment, Position position) {
  const auto read = [&]() -> std::optional<Entry> {
    Rows rows = db.query(sql(select_entry, "WHERE id = ?"), entry_key(segment, position));
    return rows.next() ? std::optional(read_entry(rows)) : std::nullopt;
  };
  return unless_damaged(read).value_or(std::nullopt);
}

std::int64_t count_sessions(Connection& db) {
  std::int64_t count = 0;
  for (const char* query : {"SELECT value FROM meta WHERE key = 'sessions'",
                            "SELECT num FROM session ORDER BY num DESC LIMIT 1"}) {
    const auto most = unless_damaged([&] { return db.find_integer(query).value_or(0); });
    count = std::max(count, most.value_or(0));
  }
  return std::min(count, probes_max);
}

}  // namespace

void scan_entries(Connection& db, const Stretch& stretch, const EntryVisitor& visit) {
  Position next = stretch.first;
  const auto miss_up_to = [&](Position last) {
    if (next <= last) visit.missing(next, last);
    next = std::max(next, last + 1);
  };
  const auto deliver = [&](Entry&& entry) {
    // A damaged page may hold keys that do not belong where they are.
    if (entry.position < next || entry.position > stretch.last) return;
    if (entry.position > next) miss_up_to(entry.position - 1);
    next = entry.position + 1;
    visit.entry(std::move(entry));
  };
  while (next <= stretch.last) {
    try {
      Rows rows =
          db.query(sql(select_entry, "WHERE id BETWEEN ? AND ? ORDER BY id"),
                   entry_key(stretch.segment, next), entry_key(stretch.segment, stretch.last));
      while (rows.next()) deliver(read_entry(rows));
      return miss_up_to(stretch.last);
    } catch (const SqliteError& error) {
      if (!error.is_damage()) throw;
    }
    // Over the damage, to the first key that can be read.
    std::optional<Entry> entry;
    for (Position at = next; at <= stretch.last && !entry; ++at) {
      entry = probe(db, stretch.segment, at);
      if (entry && entry->position != at) entry.reset();
    }
    if (!entry) return miss_up_to(stretch.last);
    deliver(*std::move(entry));
  }
}

std::vector<Stretch> not_pruned(Connection& db, const Stretch& stretch) {
  std::vector<std::pair<Position, Position>> pruned;
  // Rows do not overlap: of those that begin before the stretch, the last one may reach into it.
  Rows rows = db.query(
      "SELECT first, upto FROM pruned WHERE segment = ?1 AND first <= ?3 AND upto > ?2 AND first "
      ">= coalesce((SELECT max(first) FROM pruned WHERE segment = ?1 AND first <= ?2), 0) "
      "ORDER BY first",
      stretch.segment, stretch.first, stretch.last);
  while (rows.next()) pruned.emplace_back(rows.number(0), rows.number(1));
  return rules::without_pruned(stretch, pruned);
}

std::vector<std::int64_t> readable_sessions(Connection& db) {
  const auto all =
      unless_damaged([&] { return db.integers("SELECT num FROM session ORDER BY num"); });
  if (all) return *all;
  std::vector<std::int64_t> numbers;
  const std::int64_t count = count_sessions(db);
  for (std::int64_t number = 1; number <= count; ++number) {
    const auto is_there = unless_damaged(
        [&] { return db.query("SELECT 1 FROM session WHERE num = ?", number).next(); });
    if (is_there.value_or(false)) numbers.push_back(number);
  }
  return numbers;
}

// Checkpoints have no index by place, and need none: as versions rise, so do segment
// and position, because a session never goes back to a segment it has left. So a place
// is found among them by halving.

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
  return db.number("SELECT version FROM checkpoint WHERE session = ? ORDER BY version DESC LIMIT 1",
                   session);
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

struct Totals {
  Position position = 0;
  Tally tally{};
};

// Those of the last version at or before `position`, if it is on the segment.
std::optional<Totals> totals_before(Connection& db, const OwnedSegment& owned, Position position) {
  const Version beyond = first_not_before(db, owned.session, {owned.segment, position + 1});
  Rows rows = db.query(
      "SELECT segment, position, turns, steps, tokens_in, tokens_out, cost_micros FROM checkpoint "
      "WHERE session = ? AND version < ? ORDER BY version DESC LIMIT 1",
      owned.session, beyond);
  if (!rows.next() || rows.number(0) != owned.segment) return std::nullopt;
  return Totals{.position = rows.number(1), .tally = read_tally(rows, 2)};
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
  return std::max(before, db.number("SELECT max(parent_position) FROM segment WHERE parent = ? AND "
                                    "parent_position < ?",
                                    owned.segment, position));
}

// A session's own segments divide its positions among them by time: each covers
// those from its first up to the first of the next. Positions below the session's
// first segment are the parent's, as far as the fork shares them.

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
  auto segment = db.find_integer(
      "SELECT num FROM segment WHERE session = ? AND first <= ? ORDER BY first DESC, num DESC "
      "LIMIT 1",
      session, position);
  if (!segment) {
    segment = db.find_integer(
        "SELECT num FROM segment WHERE session = ? ORDER BY first, num LIMIT 1", session);
  }
  if (!segment) throw SqliteError(SQLITE_CORRUPT, "a session has no segment");
  return static_cast<SegmentId>(*segment);
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

// As find_session(), without the index by id. Throws damage if it is not among the readable rows:
// it may be one of the others.
std::int64_t find_readable_session(Connection& db, const SessionId& id) {
  for (const std::int64_t number : readable_sessions(db)) {
    const auto is_it = unless_damaged([&] {
      Rows rows = db.query("SELECT id FROM session WHERE num = ?", number);
      return rows.next() && rows.text(0) == id.text();
    });
    if (is_it.value_or(false)) return number;
  }
  throw SqliteError(
      SQLITE_CORRUPT,
      "the list of sessions is damaged, and the session is not in what is left of it");
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
  const auto found = unless_damaged(
      [&] { return db.find_integer("SELECT num FROM session WHERE id = ?", id.text()); });
  if (found) return *found;
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
