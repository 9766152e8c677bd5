// One session's rows as the shared check reads them, then the check itself.

#include "postgres/upkeep/check_session.hpp"

#include <algorithm>
#include <cstdint>
#include <fmt/format.h>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "perdure/core/id.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/upkeep.hpp"
#include "postgres/client/connection.hpp"
#include "postgres/client/params.hpp"
#include "postgres/client/rows.hpp"
#include "postgres/client/values.hpp"
#include "postgres/upkeep/check_run.hpp"
#include "rules/session_check.hpp"
#include "rules/stored_rows.hpp"
#include "rules/stored_session.hpp"

namespace perdure::postgres {

// Rows are read a page at a time, bounded in rows and in bytes.

namespace {

rules::StoredCall read_stored_call(const Rows& rows) {
  rules::StoredCall stored = rules::read_stored_call(rows);
  stored.has_intent = rows.boolean(20);
  stored.has_args = rows.boolean(21);
  stored.has_result = rows.boolean(22);
  return stored;
}

class PostgresSession final : public rules::StoredSession {
 public:
  PostgresSession(Connection& db, std::int64_t number) : db_(db), number_(number) {}

  // Receipts have no index by number. The server sorts them once, and hands them out bit by bit.
  void commits(const std::function<bool(const rules::StoredCommit&)>& visit) override {
    db_.query(
        "DECLARE perdure_receipts NO SCROLL CURSOR FOR SELECT batch, number, segment, first, "
        "count, "
        "head, version, at, chain FROM perdure.receipt WHERE session = $1 ORDER BY number",
        Params::of(number_));
    bool more = true;
    while (more) {
      Rows rows = db_.query("FETCH 500 FROM perdure_receipts");
      more = rows.count() > 0;
      while (more && rows.next()) more = visit(rules::read_commit(rows));
    }
    db_.query("CLOSE perdure_receipts");
  }

  void entries(const rules::Stretch& stretch, const rules::EntryVisitor& visit) override {
    Position next = stretch.first;
    while (next <= stretch.last) {
      auto* row = entries_.seek(next);
      const Position found = row == nullptr ? stretch.last + 1 : row->first;
      const bool is_here = found <= stretch.last && row->second.segment == stretch.segment;
      const Position missing = is_here ? found - 1 : std::min(found, stretch.last);
      if (missing >= next) visit.missing(next, missing);
      if (is_here) visit.entry(std::move(row->second));
      next = std::min(found, stretch.last) + 1;
    }
  }

  std::vector<rules::Stretch> not_pruned(const rules::Stretch& stretch) override {
    // Rows do not overlap: of those that begin before the stretch, the last one may reach into it.
    Rows rows = db_.query(
        "SELECT first, upto FROM perdure.pruned WHERE segment = $1 AND first <= $3 AND upto > $2 "
        "AND first >= coalesce((SELECT max(first) FROM perdure.pruned WHERE segment = $1 "
        "AND first <= $2), 0) ORDER BY first",
        Params::of(stretch.segment, stretch.first, stretch.last));
    std::vector<rules::Stretch> left;
    Position next = stretch.first;
    while (rows.next()) {
      if (rows.number(0) > next) left.push_back({stretch.segment, next, rows.number(0) - 1});
      next = std::max(next, rows.number(1));
    }
    if (next <= stretch.last) left.push_back({stretch.segment, next, stretch.last});
    return left;
  }

  std::optional<rules::StoredCheckpoint> checkpoint(Version version) override {
    const auto* row = checkpoints_.seek(version);
    if (row == nullptr || row->first != version) return std::nullopt;
    return row->second;
  }

  void calls(const rules::StoredCommit& commit,
             const std::function<void(const rules::StoredCall&)>& visit) override {
    for (auto* row = calls_.seek(commit.first); row != nullptr && row->first <= commit.last();
         row = calls_.seek(row->first + 1)) {
      rules::StoredCall& stored = row->second;
      stored.has_args = stored.has_args && stored.call.args <= commit.last();
      visit(stored);
    }
  }

  std::uint64_t count(rules::RowKind kind, SegmentId segment) override {
    switch (kind) {
      case rules::RowKind::entries:
        if (!entry_counts_) entry_counts_ = count_entries();
        return (*entry_counts_)[segment];
      case rules::RowKind::checkpoints:
        return number_of(db_.query("SELECT count(*) FROM perdure.checkpoint WHERE session = $1",
                                   Params::of(number_)));
      case rules::RowKind::calls:
        return number_of(
            db_.query("SELECT count(*) FROM perdure.call WHERE session = $1", Params::of(number_)));
    }
    return 0;
  }

  std::optional<Tally> count_tally(rules::Place place) override {
    Rows rows = db_.query("SELECT * FROM perdure.count_tally($1, $2)",
                          Params::of(place.segment, place.position));
    if (!rows.next() || !rows.boolean(0)) return std::nullopt;
    return rules::read_tally(rows, 1);
  }

  bool has_blob(const Body& body) override {
    if (body.codec() != Codec::blob) return true;
    const auto ref = body.blob();
    return ref && db_.query("SELECT 1 FROM perdure.blob WHERE hash = $1 AND size = $2",
                            Params::of(ref->digest, ref->size))
                      .next();
  }

 private:
  static std::uint64_t number_of(Rows rows) { return rows.next() ? rows.number(0) : 0; }

  std::map<SegmentId, std::uint64_t> count_entries() {
    Rows rows =
        db_.query("SELECT segment, count(*) FROM perdure.entry WHERE session = $1 GROUP BY segment",
                  Params::of(number_));
    std::map<SegmentId, std::uint64_t> counts;
    while (rows.next()) counts.emplace(rows.number(0), rows.number(1));
    return counts;
  }

  Pages<Entry>::Page fetch_entries(Position from) {
    Rows rows = db_.query(
        fmt::format("SELECT {} FROM (SELECT *, sum(size) OVER (ORDER BY position) - size AS before "
                    "FROM (SELECT *, coalesce(octet_length(body), octet_length(bytes), 0) AS size "
                    "FROM perdure.entry WHERE session = $1 AND position >= $2 ORDER BY position "
                    "LIMIT $3) m) e WHERE e.before < $4 ORDER BY e.position",
                    entry_columns),
        Params::of(number_, from, page_rows, page_bytes));
    Pages<Entry>::Page page;
    while (rows.next()) page.emplace_back(rows.number(0), read_entry(rows));
    return page;
  }

  Pages<rules::StoredCheckpoint>::Page fetch_checkpoints(Version from) {
    Rows rows = db_.query(
        "SELECT version, segment, position, at, turns, steps, tokens_in, tokens_out, cost_micros, "
        "metadata FROM perdure.checkpoint WHERE session = $1 AND version >= $2 ORDER BY version "
        "LIMIT $3",
        Params::of(number_, from, page_rows));
    Pages<rules::StoredCheckpoint>::Page page;
    while (rows.next()) {
      page.emplace_back(rows.number(0), rules::read_stored_checkpoint(rows, 1));
    }
    return page;
  }

  Pages<rules::StoredCall>::Page fetch_calls(Position from) {
    Rows rows = db_.query("SELECT * FROM perdure.calls_from($1, $2, $3)",
                          Params::of(number_, from, page_rows));
    Pages<rules::StoredCall>::Page page;
    while (rows.next()) page.emplace_back(rows.number(1), read_stored_call(rows));
    return page;
  }

  Connection& db_;
  const std::int64_t number_;
  Pages<Entry> entries_{[this](Position from) { return fetch_entries(from); }};
  Pages<rules::StoredCheckpoint> checkpoints_{
      [this](Version from) { return fetch_checkpoints(from); }};
  std::optional<std::map<SegmentId, std::uint64_t>> entry_counts_;  // In one look, by segment.
  Pages<rules::StoredCall> calls_{[this](Position from) { return fetch_calls(from); }};
};

}  // namespace

std::unique_ptr<rules::StoredSession> stored_session(Connection& db, std::int64_t number) {
  return std::make_unique<PostgresSession>(db, number);
}

// What only PostgreSQL knows of a session, and then the check that every backend shares.

namespace {

std::optional<rules::StoredSummary> check_summary_row(CheckRun& run, std::int64_t number) {
  Rows rows = run.db.query(
      "SELECT s.id, s.segment, s.head, s.next, s.version, s.commits, s.chain, s.turns, s.steps, "
      "s.tokens_in, s.tokens_out, s.cost_micros, s.attention, s.status, s.tags, s.metadata, "
      "s.lineage, s.parent, s.owner, w.num FROM perdure.session s "
      "LEFT JOIN perdure.worker w ON w.num = s.owner WHERE s.num = $1",
      Params::of(number));
  if (!rows.next()) return std::nullopt;
  return rules::check_summary_row(run, number, rows);
}

std::vector<rules::Part> check_segments(CheckRun& run, const rules::StoredSummary& session) {
  return rules::check_segments(
      run, session.id,
      run.db.query("SELECT g.num, g.session, g.first, g.parent, g.parent_position, p.num FROM "
                   "perdure.segment g LEFT JOIN perdure.segment p ON p.num = g.parent WHERE "
                   "g.session = $1 ORDER BY g.num",
                   Params::of(session.number)));
}

void check_inbox(CheckRun& run, rules::StoredSession& session,
                 const rules::StoredSummary& summary) {
  std::string last;
  while (true) {
    Rows rows = run.db.query(
        "SELECT id, kind, codec, consumed, coalesce(convert_to(body, 'UTF8'), bytes) FROM (SELECT "
        "*, sum(size) OVER (ORDER BY id) - size AS before FROM (SELECT *, "
        "coalesce(octet_length(body), octet_length(bytes), 0) AS size FROM perdure.message "
        "WHERE session = $1 AND id > $2 ORDER BY id LIMIT $3) m) e WHERE before < $4 ORDER BY id",
        Params::of(summary.number, last, page_rows, page_bytes));
    if (rows.count() == 0) return;
    while (rows.next()) {
      last = rows.string(0);
      rules::check_message(run, session, summary.id,
                           {.id = last,
                            .kind = rows.string(1),
                            .codec = rows.integer(2),
                            .is_consumed = rows.boolean(3),
                            .has_body = !rows.is_null(4),
                            .bytes = rows.string(4)});
    }
  }
}

// Their sessions are gone, also those that are not all cleared away; what is on its way here is not.
// In order of a session's positions, as its entries are read.
std::vector<std::pair<std::int64_t, rules::SharedPart>> shared_parts(Connection& db) {
  return rules::read_shared_parts(db.query(
      "SELECT g.session, g.num, g.first, (SELECT max(c.parent_position) FROM perdure.segment c "
      "WHERE "
      "c.parent = g.num), (SELECT s.id FROM perdure.segment c JOIN perdure.session s ON s.num = "
      "c.session "
      "WHERE c.parent = g.num ORDER BY s.num LIMIT 1) FROM perdure.segment g "
      "WHERE NOT EXISTS (SELECT FROM perdure.session s WHERE s.num = g.session) "
      "AND NOT EXISTS (SELECT FROM perdure.transit t WHERE t.owner = g.session) "
      "AND EXISTS (SELECT 1 FROM perdure.segment c WHERE c.parent = g.num) ORDER BY g.session, "
      "g.num"));
}

}  // namespace

void check_shared(CheckRun& run) {
  std::vector<std::pair<std::int64_t, rules::SharedPart>> parts;
  run.guard({}, "the list of segments", [&] { parts = shared_parts(run.db); });
  for (const auto& [owner, part] : parts) {
    if (!run.go_on()) return;
    const auto session = stored_session(run.db, owner);
    run.guard(part.heir, fmt::format("segment {}", part.stretch.segment),
              [&] { rules::check_shared(run, *session, part); });
  }
}

void check_session(CheckRun& run, std::int64_t number) {
  std::optional<rules::StoredSummary> summary;
  run.guard({}, fmt::format("session number {}", number),
            [&] { summary = check_summary_row(run, number); });
  if (!summary) return;
  ++run.report().sessions;
  std::vector<rules::Part> segments;
  run.guard(summary->id, "the session's segments",
            [&] { segments = check_segments(run, *summary); });
  const auto session = stored_session(run.db, number);
  rules::check_history(run, *session, *summary, segments);
  run.guard(summary->id, "the session's inbox", [&] { check_inbox(run, *session, *summary); });
}

}  // namespace perdure::postgres
