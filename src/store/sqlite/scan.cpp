// A scan that failed goes on at the next key that can be read, so that a damaged page
// costs as many probes as it had rows, not as many as the table has.

#include "sqlite/scan.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "perdure/core/id.hpp"
#include "perdure/store/log.hpp"
#include "sqlite/connection.hpp"
#include "sqlite/line.hpp"
#include "sqlite/rows.hpp"

namespace perdure::sqlite {
namespace {

// A counter that is damaged itself must not make a scan endless.
constexpr std::int64_t probes_max = 1 << 22;

std::optional<Entry> probe(Connection& db, SegmentId segment, Position position) {
  try {
    Rows rows = db.query(sql(select_entry, "WHERE id = ?"), entry_key(segment, position));
    if (rows.next()) return read_entry(rows);
  } catch (const SqliteError& error) {
    if (!error.is_damage()) throw;
  }
  return std::nullopt;
}

class Scan {
 public:
  Scan(Connection& db, const Stretch& stretch, const EntryVisitor& visit)
      : db_(db), stretch_(stretch), visit_(visit), next_(stretch.first) {}

  void run() {
    while (!run_to_damage()) step_over_damage();
  }

 private:
  // True when the end was reached.
  bool run_to_damage() {
    if (next_ > stretch_.last) return true;
    try {
      Rows rows =
          db_.query(sql(select_entry, "WHERE id BETWEEN ? AND ? ORDER BY id"),
                    entry_key(stretch_.segment, next_), entry_key(stretch_.segment, stretch_.last));
      while (rows.next()) deliver(read_entry(rows));
    } catch (const SqliteError& error) {
      if (!error.is_damage()) throw;
      return false;
    }
    miss_up_to(stretch_.last);
    return true;
  }

  void step_over_damage() {
    for (Position position = next_; position <= stretch_.last; ++position) {
      auto entry = probe(db_, stretch_.segment, position);
      if (entry && entry->position == position) return deliver(*std::move(entry));
    }
    miss_up_to(stretch_.last);
  }

  void deliver(Entry&& entry) {
    // A damaged page may hold keys that do not belong where they are.
    if (entry.position < next_ || entry.position > stretch_.last) return;
    if (entry.position > next_) miss_up_to(entry.position - 1);
    next_ = entry.position + 1;
    visit_.entry(std::move(entry));
  }

  void miss_up_to(Position last) {
    if (next_ > last) return;
    visit_.missing(next_, last);
    next_ = last + 1;
  }

  Connection& db_;
  const Stretch& stretch_;
  const EntryVisitor& visit_;
  Position next_;
};

std::int64_t count_sessions(Connection& db) {
  std::int64_t count = 0;
  for (const char* query : {"SELECT value FROM meta WHERE key = 'sessions'",
                            "SELECT num FROM session ORDER BY num DESC LIMIT 1"}) {
    try {
      Rows rows = db.query(query);
      if (rows.next()) count = std::max(count, rows.integer(0));
    } catch (const SqliteError& error) {
      if (!error.is_damage()) throw;
    }
  }
  return std::min(count, probes_max);
}

}  // namespace

void scan_entries(Connection& db, const Stretch& stretch, const EntryVisitor& visit) {
  Scan(db, stretch, visit).run();
}

std::vector<Stretch> not_pruned(Connection& db, const Stretch& stretch) {
  std::vector<Stretch> left;
  Position next = stretch.first;
  // Rows do not overlap: of those that begin before the stretch, the last one may reach into it.
  Rows rows = db.query(
      "SELECT first, upto FROM pruned WHERE segment = ?1 AND first <= ?3 AND upto > ?2 AND first "
      ">= "
      "coalesce((SELECT max(first) FROM pruned WHERE segment = ?1 AND first <= ?2), 0) "
      "ORDER BY first",
      stretch.segment, stretch.first, stretch.last);
  while (rows.next()) {
    if (rows.number(0) > next) left.push_back({stretch.segment, next, rows.number(0) - 1});
    next = std::max(next, rows.number(1));
  }
  if (next <= stretch.last) left.push_back({stretch.segment, next, stretch.last});
  return left;
}

std::int64_t find_readable_session(Connection& db, const SessionId& id) {
  for (const std::int64_t number : readable_sessions(db)) {
    try {
      Rows rows = db.query("SELECT id FROM session WHERE num = ?", number);
      if (rows.next() && rows.text(0) == id.text()) return number;
    } catch (const SqliteError& error) {
      if (!error.is_damage()) throw;
    }
  }
  throw SqliteError(
      SQLITE_CORRUPT,
      "the list of sessions is damaged, and the session is not in what is left of it");
}

std::vector<std::int64_t> readable_sessions(Connection& db) {
  std::vector<std::int64_t> numbers;
  try {
    Rows rows = db.query("SELECT num FROM session ORDER BY num");
    while (rows.next()) numbers.push_back(rows.integer(0));
    return numbers;
  } catch (const SqliteError& error) {
    if (!error.is_damage()) throw;
  }
  numbers.clear();
  const std::int64_t count = count_sessions(db);
  for (std::int64_t number = 1; number <= count; ++number) {
    try {
      if (db.query("SELECT 1 FROM session WHERE num = ?", number).next()) numbers.push_back(number);
    } catch (const SqliteError& error) {
      if (!error.is_damage()) throw;
    }
  }
  return numbers;
}

}  // namespace perdure::sqlite
