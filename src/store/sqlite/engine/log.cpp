// Reading history over SQLite: a line is a few ranges of entry keys, each read once.

#include "perdure/store/log.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/store/store.hpp"
#include "rules/checks.hpp"
#include "rules/queries.hpp"
#include "rules/stored_session.hpp"
#include "sqlite/engine/connection.hpp"
#include "sqlite/engine/line.hpp"
#include "sqlite/engine/roles.hpp"
#include "sqlite/engine/rows.hpp"
#include "store/api/limits.hpp"
#include "store/api/lookup.hpp"

namespace perdure::sqlite {
namespace {

Result<std::vector<Part>> line_of(Connection& db, const SessionId& session, Point as_of) {
  auto number = require_session(db, session);
  if (!number) return forward(number);
  auto place = resolve(db, *number, as_of);
  if (!place) return forward(place);
  return line_to(db, *place);
}

// The positions of one segment that a query asks for.
std::optional<Stretch> stretch_of(const Part& part, const LogQuery& query) {
  const Position from = std::max(query.from, part.first);
  const Position to = std::min(query.to, part.last);
  if (from > to) return std::nullopt;
  return Stretch{part.segment, from, to};
}

// The last position that some commit is known to have filled, or that has an entry.
Position last_known(Connection& db, const Part& part, const Stretch& stretch) {
  Position last = stretch.first;
  try {
    Rows rows = db.query("SELECT first, count FROM receipt WHERE session = ? AND segment = ?",
                         part.session, part.segment);
    while (rows.next()) {
      if (rows.number(1) > batch_entries_max) continue;
      last = std::max(last, rows.number(0) + rows.number(1) - 1);
    }
    Rows newest = db.query("SELECT id FROM entry WHERE id BETWEEN ? AND ? ORDER BY id DESC LIMIT 1",
                           entry_key(stretch.segment, stretch.first),
                           entry_key(stretch.segment, stretch.last));
    if (newest.next()) last = std::max(last, newest.number(0) & position_max);
  } catch (const SqliteError& error) {
    if (!error.is_damage()) throw;
    last = stretch.first + limit_max;
  }
  return std::min(last, stretch.last);
}

// Reads all of the stretch, and puts a damaged entry where one must have been. Which channel a
// lost entry was on nobody knows, so it is shown in all of them.
void read_damaged(Connection& db, const Part& part, const LogQuery& query,
                  std::vector<Entry>& entries) {
  auto stretch = *stretch_of(part, query);
  stretch.last = last_known(db, part, stretch);
  std::vector<Entry> found;
  scan_entries(db, stretch,
               {.entry =
                    [&](Entry&& entry) {
                      const bool is_wanted = query.channel.empty() || rules::is_lost(entry) ||
                                             entry.channel == query.channel;
                      if (is_wanted) found.push_back(std::move(entry));
                    },
                .missing =
                    [&](Position first, Position last) {
                      for (const Stretch& left : not_pruned(db, {part.segment, first, last})) {
                        for (Position at = left.first; at <= left.last; ++at) {
                          found.push_back(rules::lost_entry(part.segment, at));
                        }
                      }
                    }});
  if (query.order == Order::newest_first) std::ranges::reverse(found);
  for (Entry& entry : found) {
    if (entries.size() >= query.limit) return;
    entries.push_back(std::move(entry));
  }
}

// Whether the entries from number `begin` on leave out positions that were not pruned. A look at
// the numbers only: the table is asked where they skip.
bool has_gap(Connection& db, const Stretch& stretch, const LogQuery& query,
             const std::vector<Entry>& entries, std::size_t begin) {
  if (!query.channel.empty()) return false;
  const bool forwards = query.order == Order::oldest_first;
  // What is still to come, from either end.
  Stretch rest = stretch;
  const auto was_there = [&](Position first, Position last) {
    return first <= last && !not_pruned(db, {stretch.segment, first, last}).empty();
  };
  for (std::size_t i = begin; i < entries.size(); ++i) {
    const Position at = entries[i].position;
    if (forwards ? was_there(rest.first, at - 1) : was_there(at + 1, rest.last)) return true;
    (forwards ? rest.first : rest.last) = forwards ? at + 1 : at - 1;
  }
  return entries.size() < query.limit && was_there(rest.first, rest.last);
}

// Of a row that was zeroed, no channel is known: it is shown in all of them, too.
void read_rows(Connection& db, const Stretch& stretch, const LogQuery& query,
               std::vector<Entry>& entries) {
  const bool forwards = query.order == Order::oldest_first;
  Rows rows =
      db.query(sql(select_entry,
                   forwards ? "WHERE id BETWEEN ? AND ? AND (? = '' OR coalesce(channel, '') IN "
                              "('', ?3)) ORDER BY id LIMIT ?"
                            : "WHERE id BETWEEN ? AND ? AND (? = '' OR coalesce(channel, '') IN "
                              "('', ?3)) ORDER BY id DESC LIMIT ?"),
               entry_key(stretch.segment, stretch.first), entry_key(stretch.segment, stretch.last),
               query.channel, query.limit - entries.size());
  // A page of all channels has as many entries as positions; of one channel, nobody knows.
  if (query.channel.empty()) {
    const std::size_t more = std::min<Position>(stretch.last - stretch.first + 1, query.limit);
    entries.reserve(std::min(entries.size() + more, query.limit));
  }
  while (rows.next()) entries.push_back(read_entry(rows));
}

void read_part(Connection& db, const Part& part, const LogQuery& query,
               std::vector<Entry>& entries) {
  const auto stretch = stretch_of(part, query);
  if (!stretch || entries.size() >= query.limit) return;
  const std::size_t before = entries.size();
  const auto is_whole = unless_damaged([&] {
    read_rows(db, *stretch, query, entries);
    return !has_gap(db, *stretch, query, entries, before);
  });
  if (is_whole.value_or(false)) return;
  entries.resize(before);
  read_damaged(db, part, query, entries);
}

// Without the index of values. A newer one may have been where an entry is lost.
std::optional<Entry> search_value(Connection& db, const Part& part, const std::string& channel) {
  LogQuery all;
  all.order = Order::newest_first;
  std::vector<Entry> entries;
  read_part(db, part, all, entries);
  for (Entry& entry : entries) {
    if (rules::is_lost(entry)) throw SqliteError(SQLITE_CORRUPT, "the value may be a lost entry");
    if (entry.channel == channel && entry.fold == Fold::replace) return std::move(entry);
  }
  return std::nullopt;
}

std::optional<Entry> find_value_in(Connection& db, const Part& part, const std::string& channel) {
  auto found = unless_damaged([&]() -> std::optional<Entry> {
    Rows rows = db.query(
        sql(select_entry,
            "WHERE channel = ? AND fold = 1 AND id BETWEEN ? AND ? ORDER BY id DESC LIMIT 1"),
        channel, entry_key(part.segment, part.first), entry_key(part.segment, part.last));
    return rows.next() ? std::optional(read_entry(rows)) : std::nullopt;
  });
  return found ? *std::move(found) : search_value(db, part, channel);
}

// Adds the next checkpoint, if it is wanted. False if there is none.
bool add_matching(Rows& rows, const CheckpointQuery& query, std::vector<Checkpoint>& found) {
  if (!rows.next()) return false;
  Checkpoint checkpoint = sqlite::read_checkpoint(rows);
  if (rules::matches(query, checkpoint)) found.push_back(std::move(checkpoint));
  return true;
}

// One by one, where they cannot be listed: those that can be read.
std::vector<Checkpoint> search_checkpoints(Connection& db, std::int64_t session,
                                           const CheckpointQuery& query) {
  std::vector<Checkpoint> found;
  Version latest =
      std::min<Version>(db.number("SELECT version FROM session WHERE num = ?", session), limit_max);
  if (query.before) latest = std::min(latest, *query.before == 0 ? 0 : *query.before - 1);
  for (Version version = latest; version > 0 && found.size() < query.limit; --version) {
    const auto read = unless_damaged([&] {
      Rows rows =
          db.query(sql(select_checkpoint, "WHERE session = ? AND version = ?"), session, version);
      return add_matching(rows, query, found);
    });
    // One that is asked for by its number is not passed over.
    if (!read && query.limit == 1 && version == latest) {
      throw SqliteError(SQLITE_CORRUPT, "a version cannot be read");
    }
  }
  return found;
}

std::vector<Checkpoint> list_checkpoints(Connection& db, std::int64_t session,
                                         const CheckpointQuery& query) {
  constexpr Version any = static_cast<Version>(std::numeric_limits<std::int64_t>::max());
  const Version before = std::min(query.before.value_or(any), any);
  std::vector<Checkpoint> found;
  Rows rows =
      db.query(query.label.empty()
                   ? sql(select_checkpoint,
                         "WHERE session = ? AND version < ? AND ? = '' ORDER BY version DESC")
                   : sql(select_checkpoint,
                         "WHERE session = ? AND version < ? AND label = ? AND label <> '' "
                         "ORDER BY version DESC"),
               session, before, query.label);
  while (found.size() < query.limit && add_matching(rows, query, found)) continue;
  return found;
}

SessionId session_id(Connection& db, std::int64_t number) {
  Rows rows = db.query("SELECT id FROM session WHERE num = ?", number);
  return rows.next() ? stored_id<SessionId>(rows.text(0)) : SessionId{};
}

}  // namespace

Result<std::vector<Entry>> SqliteRoles::read(const SessionId& session, const LogQuery& query) {
  if (auto checked = rules::check(query); !checked) return forward(checked);
  return access_.readers.read([&](Connection& db) -> Result<std::vector<Entry>> {
    auto parts = line_of(db, session, query.as_of);
    if (!parts) return forward(parts);
    if (query.order == Order::newest_first) std::ranges::reverse(*parts);
    std::vector<Entry> entries;
    for (const Part& part : *parts) read_part(db, part, query, entries);
    return entries;
  });
}

Result<std::optional<Entry>> SqliteRoles::find_value(const SessionId& session,
                                                     const std::string& channel, Point as_of) {
  return access_.readers.read([&](Connection& db) -> Result<std::optional<Entry>> {
    auto parts = line_of(db, session, as_of);
    if (!parts) return forward(parts);
    for (auto part = parts->rbegin(); part != parts->rend(); ++part) {
      if (auto entry = find_value_in(db, *part, channel)) return entry;
    }
    return std::nullopt;
  });
}

Result<std::vector<Checkpoint>> SqliteRoles::checkpoints(const SessionId& session,
                                                         const CheckpointQuery& query) {
  if (auto checked = rules::check(query); !checked) return forward(checked);
  return access_.readers.read([&](Connection& db) -> Result<std::vector<Checkpoint>> {
    auto number = require_session(db, session);
    if (!number) return forward(number);
    auto listed = unless_damaged([&] { return list_checkpoints(db, *number, query); });
    return listed ? *std::move(listed) : search_checkpoints(db, *number, query);
  });
}

Result<std::vector<Segment>> SqliteRoles::line(const SessionId& session, Point as_of) {
  return access_.readers.read([&](Connection& db) -> Result<std::vector<Segment>> {
    auto parts = line_of(db, session, as_of);
    if (!parts) return forward(parts);
    std::vector<Segment> segments;
    for (const Part& part : *parts) {
      segments.push_back({.id = part.segment,
                          .session = session_id(db, part.session),
                          .first = part.first,
                          .parent = part.parent,
                          .parent_position = part.parent_position});
    }
    return segments;
  });
}

Result<std::optional<Receipt>> SqliteRoles::find_receipt(const SessionId& session,
                                                         const BatchId& batch) {
  return access_.readers.read([&](Connection& db) -> Result<std::optional<Receipt>> {
    auto number = require_session(db, session);
    if (!number) return forward(number);
    Rows rows = db.query(select_receipt, *number, batch.text());
    if (!rows.next()) return std::nullopt;
    return read_receipt(rows);
  });
}

}  // namespace perdure::sqlite
