// The rows of one session in an SQLite file, for the check that every backend shares.

#include <algorithm>
#include <cstdint>
#include <fmt/format.h>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "perdure/core/id.hpp"
#include "perdure/store/log.hpp"
#include "rules/session_check.hpp"
#include "rules/shared_check.hpp"
#include "rules/stored_session.hpp"
#include "sqlite/check_facts.hpp"
#include "sqlite/check_run.hpp"
#include "sqlite/connection.hpp"
#include "sqlite/line.hpp"
#include "sqlite/rows.hpp"
#include "sqlite/scan.hpp"

namespace perdure::sqlite {
namespace {

rules::StoredCommit read_commit(const Rows& rows) {
  rules::StoredCommit commit{.batch = stored_id<BatchId>(rows.text(0)),
                             .number = rows.number(1),
                             .segment = rows.number(2),
                             .first = rows.number(3),
                             .count = rows.number(4),
                             .head = rows.number(5),
                             .version = {},
                             .at = rows.time(7),
                             .chain = rows.digest(8)};
  if (!rows.is_null(6)) commit.version = rows.number(6);
  return commit;
}

class SqliteSession final : public rules::StoredSession {
 public:
  SqliteSession(Connection& db, const rules::StoredSummary& session) : db_(db), session_(session) {}

  void commits(const std::function<bool(const rules::StoredCommit&)>& visit) override {
    Rows rows = db_.query(
        "SELECT batch, number, segment, first, count, head, version, at, chain FROM receipt "
        "WHERE session = ? ORDER BY number",
        session_.number);
    while (rows.next() && visit(read_commit(rows))) continue;
  }

  void entries(const Stretch& stretch, const EntryVisitor& visit) override {
    scan_entries(db_, stretch, visit);
  }

  std::vector<Stretch> not_pruned(const Stretch& stretch) override {
    return sqlite::not_pruned(db_, stretch);
  }

  std::optional<rules::StoredCheckpoint> checkpoint(Version version) override {
    Rows rows = db_.query(
        "SELECT segment, position, at, turns, steps, tokens_in, tokens_out, cost_micros, metadata "
        "FROM checkpoint WHERE session = ? AND version = ?",
        session_.number, version);
    if (!rows.next()) return std::nullopt;
    return rules::StoredCheckpoint{.segment = rows.number(0),
                                   .position = rows.number(1),
                                   .at = rows.time(2),
                                   .tally = read_tally(rows, 3),
                                   .metadata = rows.string(8)};
  }

  void calls(const rules::StoredCommit& commit,
             const std::function<void(const rules::StoredCall&)>& visit) override {
    visit_calls(db_, session_, commit, visit);
  }

  std::uint64_t count(rules::RowKind kind, SegmentId segment) override {
    switch (kind) {
      case rules::RowKind::entries:
        return number_of(db_.query("SELECT count(*) FROM entry WHERE id BETWEEN ? AND ?",
                                   entry_key(segment, 0), entry_key(segment, position_max)));
      case rules::RowKind::checkpoints:
        return number_of(
            db_.query("SELECT count(*) FROM checkpoint WHERE session = ?", session_.number));
      case rules::RowKind::calls:
        return number_of(db_.query("SELECT count(*) FROM call WHERE session = ?", session_.number));
    }
    return 0;
  }

  std::optional<Tally> count_tally(Place place) override { return sqlite::count_tally(db_, place); }

  bool has_blob(const Body& body) override { return is_blob_there(db_, body); }

 private:
  static std::uint64_t number_of(Rows rows) { return rows.next() ? rows.number(0) : 0; }

  Connection& db_;
  const rules::StoredSummary& session_;
};

void check_inbox(CheckRun& run, SqliteSession& session, const rules::StoredSummary& summary) {
  Rows rows = run.db.query(
      "SELECT id, kind, codec, consumed, body FROM message WHERE session = ? ORDER BY num",
      summary.number);
  while (rows.next()) {
    rules::check_message(run, session, summary.id,
                         {.id = rows.string(0),
                          .kind = rows.string(1),
                          .codec = rows.integer(2),
                          .is_consumed = rows.integer(3) != 0,
                          .has_body = !rows.is_null(4),
                          .bytes = rows.string(4)});
  }
}

// Their sessions are gone, also those that are not all cleared away; what is on its way here is not.
std::vector<std::pair<std::int64_t, rules::SharedPart>> shared_parts(Connection& db) {
  Rows rows = db.query(
      "SELECT g.session, g.num, g.first, (SELECT max(c.parent_position) FROM segment c WHERE "
      "c.parent = g.num), (SELECT s.id FROM segment c JOIN session s ON s.num = c.session "
      "WHERE c.parent = g.num ORDER BY s.num LIMIT 1) FROM segment g "
      "WHERE g.session NOT IN (SELECT num FROM session) AND g.session NOT IN (SELECT owner FROM "
      "transit) "
      "AND EXISTS (SELECT 1 FROM segment c WHERE c.parent = g.num) ORDER BY g.session, g.num");
  std::vector<std::pair<std::int64_t, rules::SharedPart>> parts;
  while (rows.next()) {
    const Position last = std::min(rows.number(3), position_max);
    rules::SharedPart part{.stretch = {rows.number(1), rows.number(2), last}};
    if (!rows.is_null(4)) part.heir = stored_id<SessionId>(rows.text(4));
    if (part.stretch.first <= part.stretch.last) parts.emplace_back(rows.integer(0), part);
  }
  return parts;
}

}  // namespace

void check_shared(CheckRun& run) {
  for (const auto& [owner, part] : shared_parts(run.db)) {
    if (!run.go_on()) return;
    const rules::StoredSummary removed{.number = owner};
    SqliteSession session(run.db, removed);
    run.guard(part.heir, fmt::format("segment {}", part.stretch.segment),
              [&] { rules::check_shared(run, session, part); });
  }
}

void check_session(CheckRun& run, std::int64_t number) {
  const auto summary = check_summary_row(run, number);
  if (!summary) return;
  ++run.report().sessions;
  std::vector<Part> segments;
  run.guard(summary->id, "the session's segments",
            [&] { segments = check_segments(run, *summary); });
  SqliteSession session(run.db, *summary);
  rules::check_history(run, session, *summary, segments);
  run.guard(summary->id, "the session's inbox", [&] { check_inbox(run, session, *summary); });
}

}  // namespace perdure::sqlite
