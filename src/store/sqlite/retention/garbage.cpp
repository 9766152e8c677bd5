// Removing a session, and clearing away its rows.

#include "sqlite/retention/garbage.hpp"

#include <cstdint>
#include <fmt/format.h>
#include <optional>
#include <string_view>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/upkeep.hpp"
#include "sqlite/engine/connection.hpp"
#include "sqlite/engine/line.hpp"
#include "sqlite/engine/roles.hpp"
#include "sqlite/engine/rows.hpp"
#include "sqlite/engine/slices.hpp"
#include "sqlite/engine/workers.hpp"
#include "sqlite/retention/sweep.hpp"

namespace perdure::sqlite {

// The row in `garbage` goes last, so that whatever is cut off is found again. A call
// that holds a key becomes a claim in the transaction in which its row goes: the key is
// never free in between. What has no id leaves no claims: it never was a session here.

namespace {

bool has_child(Connection& db, SegmentId segment) {
  return db.query("SELECT 1 FROM segment WHERE parent = ? LIMIT 1", segment).next();
}

/// One session's rows, in the order in which they may go.
class Clearing {
 public:
  explicit Clearing(std::int64_t session) : session_(session) {}

  /// Says whether there is more to do.
  [[nodiscard]] bool slice(Connection& db) {
    if (clear_rows(db)) return true;
    if (!segment_) segment_ = next_segment(db);
    if (segment_) return clear_segment(db);
    db.run("DELETE FROM garbage WHERE session = ?", session_);
    return false;
  }

  [[nodiscard]] const Freed& freed() const { return freed_; }
  /// Removed sessions that lost a segment which went on from theirs.
  [[nodiscard]] const std::vector<std::int64_t>& parents() const { return parents_; }

 private:
  /// One slice of what is not history; false if nothing of it is left.
  bool clear_rows(Connection& db) {
    if (some_gone(
            db,
            "DELETE FROM checkpoint WHERE session = ?1 AND version IN "
            "(SELECT version FROM checkpoint WHERE session = ?1 ORDER BY version LIMIT ?2)")) {
      return true;
    }
    db.run(
        "INSERT OR IGNORE INTO claim SELECT c.key, g.id, c.position, c.tool, c.effect, c.state, "
        "c.attempts, c.failures, c.fence, c.intended_at, c.dispatched_at, c.settled_at, "
        "NULL FROM call c JOIN garbage g ON g.session = c.session WHERE c.session = ?1 "
        "AND c.key IS NOT NULL AND g.id <> '' AND c.state IN ('dispatched', 'in_doubt', "
        "'succeeded', 'abandoned') AND c.position IN "
        "(SELECT position FROM call WHERE session = ?1 ORDER BY position LIMIT ?2)",
        session_, slice_rows);
    return some_gone(db,
                     "DELETE FROM call WHERE session = ?1 AND position IN "
                     "(SELECT position FROM call WHERE session = ?1 ORDER BY position LIMIT ?2)") ||
           some_gone(db,
                     "DELETE FROM receipt WHERE session = ?1 AND batch IN "
                     "(SELECT batch FROM receipt WHERE session = ?1 ORDER BY batch LIMIT ?2)") ||
           clear_messages(db);
  }

  bool some_gone(Connection& db, std::string_view statement) const {
    db.run(statement, session_, slice_rows);
    return db.changes() > 0;
  }

  bool clear_messages(Connection& db) {
    std::vector<std::int64_t> numbers;
    std::uint64_t bytes = 0;
    {
      Rows rows = db.query("SELECT num, octet_length(body) FROM message WHERE session = ? LIMIT ?",
                           session_, slice_rows);
      while (bytes < slice_bytes && rows.next()) {
        numbers.push_back(rows.integer(0));
        bytes += rows.number(1);
      }
    }
    for (const std::int64_t number : numbers) db.run("DELETE FROM message WHERE num = ?", number);
    return !numbers.empty();
  }

  // Branches are younger than what they leave.
  std::optional<Sweep> next_segment(Connection& db) const {
    Rows rows =
        db.query("SELECT num FROM segment WHERE session = ? AND num < ? ORDER BY num DESC LIMIT 1",
                 session_, below_);
    if (!rows.next()) return std::nullopt;
    return Sweep{.segment = rows.number(0), .to = position_max};
  }

  bool clear_segment(Connection& db) {
    const bool is_needed = has_child(db, segment_->segment);
    if (is_needed ? sweep_slice(db, *segment_) : drop_slice(db)) return true;
    freed_.items += segment_->entries;
    freed_.bytes += segment_->bytes;
    if (!is_needed) delete_segment(db);
    below_ = static_cast<std::int64_t>(segment_->segment);
    segment_.reset();
    return true;
  }

  bool drop_slice(Connection& db) {
    std::vector<std::int64_t> keys;
    std::uint64_t bytes = 0;
    {
      Rows rows = db.query(
          "SELECT id, octet_length(body) FROM entry WHERE id BETWEEN ? AND ? ORDER BY id LIMIT ?",
          entry_key(segment_->segment, 0), entry_key(segment_->segment, position_max), slice_rows);
      while (bytes < slice_bytes && rows.next()) {
        keys.push_back(rows.integer(0));
        bytes += rows.number(1);
      }
    }
    for (const std::int64_t key : keys) db.run("DELETE FROM entry WHERE id = ?", key);
    segment_->entries += keys.size();
    segment_->bytes += bytes;
    return !keys.empty();
  }

  void delete_segment(Connection& db) {
    const SegmentId segment = segment_->segment;
    {
      Rows rows = db.query(
          "SELECT p.session FROM segment g JOIN segment p ON p.num = g.parent WHERE g.num = ? "
          "AND p.session <> ? AND NOT EXISTS (SELECT 1 FROM session WHERE num = p.session)",
          segment, session_);
      if (rows.next()) {
        parents_.push_back(rows.integer(0));
        db.run("INSERT OR IGNORE INTO garbage VALUES (?, '')", parents_.back());
      }
    }
    db.run("DELETE FROM pruned WHERE segment = ?", segment);
    db.run("DELETE FROM segment WHERE num = ?", segment);
  }

  const std::int64_t session_;
  std::int64_t below_ = std::int64_t{1} << 32U;
  std::optional<Sweep> segment_;
  Freed freed_;
  std::vector<std::int64_t> parents_;
};

}  // namespace

std::vector<std::int64_t> list_garbage(Connection& db) {
  Rows rows = db.query(
      "SELECT session FROM garbage WHERE session NOT IN (SELECT owner FROM transit) ORDER BY "
      "session");
  std::vector<std::int64_t> sessions;
  while (rows.next()) sessions.push_back(rows.integer(0));
  return sessions;
}

Result<Freed> clear_garbage(Slices& slices, std::vector<std::int64_t> sessions) {
  Freed freed;
  slices.step.total += sessions.size();
  while (!sessions.empty()) {
    Clearing clearing(sessions.back());
    sessions.pop_back();
    auto cleared = slices.run([&](Connection& db) -> Result<bool> {
      const bool more = clearing.slice(db);
      ++slices.step.done;
      if (more) ++slices.step.total;
      return more;
    });
    if (!cleared) return forward(cleared);
    freed.items += clearing.freed().items;
    freed.bytes += clearing.freed().bytes;
    sessions.insert(sessions.end(), clearing.parents().begin(), clearing.parents().end());
    slices.step.total += clearing.parents().size();
  }
  return freed;
}

// The session is gone when its row is; everything else follows in slices.

namespace {

Result<void> check_removable(Connection& db, const Workers& workers, std::int64_t session,
                             const SessionId& id) {
  Rows rows = db.query(sql(select_session, "WHERE s.num = ?"), session);
  rows.next();
  const SessionSummary summary = read_session(rows, workers);
  const auto& holder = summary.holder;
  if (holder && holder->alive) {
    return fail(ErrorCode::lease_held,
                fmt::format("session {} is held by worker {} (host {}, pid {})", id.text(),
                            holder->worker.text(), holder->host, holder->pid),
                holder->worker.text());
  }
  // What became of the calls of a session that was moved is the other store's to say.
  if (!summary.moved_to.empty()) return {};
  Rows open = db.query(
      "SELECT min(position) FROM call WHERE state IN ('intended', 'dispatched', 'in_doubt') "
      "AND session = ?",
      session);
  if (!open.next() || open.is_null(0)) return {};
  const std::string name = call_name(id, open.number(0));
  return fail(ErrorCode::conflict,
              fmt::format("nobody knows yet what became of call {}: resolve it first", name), name);
}

}  // namespace

Result<Freed> SqliteRoles::remove(const SessionId& session, const Progress& progress) {
  auto removed = access_.writer.write([&](Connection& db) -> Result<std::int64_t> {
    auto number = require_session(db, session);
    if (!number) return forward(number);
    auto free = check_removable(db, access_.workers, *number, session);
    if (!free) return forward(free);
    db.run("INSERT INTO garbage VALUES (?, ?)", *number, session.text());
    db.run("DELETE FROM session WHERE num = ?", *number);
    return *number;
  });
  if (!removed) return forward(removed);
  Slices slices(access_.writer, progress);
  auto freed = clear_garbage(slices, {*removed});
  if (!freed) return forward(freed);
  if (auto finished = slices.finish(); !finished) return forward(finished);
  return *freed;
}

}  // namespace perdure::sqlite
