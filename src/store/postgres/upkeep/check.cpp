// Checking a store: one snapshot from beginning to end, in the only transaction that this backend opens
// by itself: on a connection of its own, so that what is asked of the store meanwhile does not wait for
// us. Commits continue; only the old versions of their rows cannot be vacuumed before it is over.
//
// The pages of the files are the server's to check (data checksums, pg_amcheck): a page that it cannot
// read is a finding here.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <expected>
#include <fmt/format.h>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/api/sha256.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/upkeep.hpp"
#include "postgres/client/connection.hpp"
#include "postgres/client/error.hpp"
#include "postgres/client/params.hpp"
#include "postgres/client/values.hpp"
#include "postgres/operations/roles.hpp"
#include "postgres/upkeep/upkeep.hpp"
#include "rules/session_check.hpp"
#include "rules/stored_rows.hpp"
#include "rules/stored_session.hpp"
#include "store/api/transfer.hpp"

namespace perdure::postgres {
namespace {

/// The savepoint of a check's transaction to which an unreadable row takes it back.
constexpr std::string_view set_check_savepoint = "SAVEPOINT perdure_check";
constexpr std::string_view undo_to_check_savepoint = "ROLLBACK TO SAVEPOINT perdure_check";

class CheckRun final : public rules::CheckRun {
 public:
  CheckRun(Connection& connection, const Progress& progress)
      : rules::CheckRun(progress), db(connection) {}

  /// An error undoes the transaction to its savepoint, and with it what is open: so the outermost
  /// guard ends what it guards, and those inside let it pass.
  void guard(const std::optional<SessionId>& session, std::string_view what,
             const std::function<void()>& work) override {
    if (is_guarded_) return work();
    is_guarded_ = true;
    try {
      work();
    } catch (const PgError& error) {
      if (!error.sqlstate().starts_with("XX")) throw;
      db.query(undo_to_check_savepoint);
      found.add(Fault::file, session, fmt::format("{} cannot be read: {}", what, error.what()));
    }
    is_guarded_ = false;
  }

  Connection& db;

 private:
  bool is_guarded_ = false;
};

// Rows of one table in the order of a key, a page at a time: who goes through a history asks for
// one row after the other, and pays a round trip for many of them.

/// What a page has at most, in rows and in bytes; a larger body makes a page of its own.
constexpr std::int64_t page_rows = 500;
constexpr std::int64_t page_bytes = std::int64_t{16} << 20U;

template <class Row>
class Pages {
 public:
  using Page = std::deque<std::pair<std::uint64_t, Row>>;
  /// The rows from a key on, as many as one likes to have in memory; none only if there is none.
  using Fetch = std::function<Page(std::uint64_t from)>;

  explicit Pages(Fetch fetch) : fetch_(std::move(fetch)) {}

  /// The first row at or after `key`, with its own key; null if there is none. Asked for rising
  /// keys, it reads each row once. Valid until the next call.
  [[nodiscard]] std::pair<std::uint64_t, Row>* seek(std::uint64_t key) {
    if (key < from_) {
      page_.clear();
      is_at_end_ = false;
    }
    from_ = key;
    while (!page_.empty() && page_.front().first < key) page_.pop_front();
    if (page_.empty() && !is_at_end_) {
      page_ = fetch_(key);
      is_at_end_ = page_.empty();
    }
    return page_.empty() ? nullptr : &page_.front();
  }

 private:
  Fetch fetch_;
  Page page_{};
  std::uint64_t from_ = 0;
  bool is_at_end_ = false;
};

rules::StoredCall read_stored_call(const Rows& rows) {
  rules::StoredCall stored = rules::read_stored_call(rows);
  stored.has_intent = rows.boolean(20);
  stored.has_args = rows.boolean(21);
  stored.has_result = rows.boolean(22);
  return stored;
}

std::uint64_t count_of(Rows rows) { return rows.next() ? rows.number(0) : 0; }

class PostgresSession final : public rules::StoredSession {
 public:
  PostgresSession(Connection& db, std::int64_t number) : db_(db), number_(number) {}

  // Receipts have no index by number. The server sorts them once, and hands them out bit by bit.
  void commits(const std::function<bool(const ReceiptFact&)>& visit) override {
    db_.query(fmt::format("DECLARE perdure_receipts NO SCROLL CURSOR FOR SELECT {} FROM "
                          "perdure.receipt WHERE session = $1 ORDER BY number",
                          rules::ColumnNames::of<ReceiptFact>("")),
              Params::of(number_));
    bool more = true;
    while (more) {
      Rows rows = db_.query("FETCH 500 FROM perdure_receipts");
      more = rows.count() > 0;
      while (more && rows.next()) more = visit(rules::read_row<ReceiptFact>(rows));
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
    std::vector<std::pair<Position, Position>> pruned;
    while (rows.next()) pruned.emplace_back(rows.number(0), rows.number(1));
    return rules::without_pruned(stretch, pruned);
  }

  std::optional<CheckpointFact> checkpoint(Version version) override {
    const auto* row = checkpoints_.seek(version);
    if (row == nullptr || row->first != version) return std::nullopt;
    return row->second;
  }

  void calls(const ReceiptFact& commit,
             const std::function<void(const rules::StoredCall&)>& visit) override {
    for (auto* row = calls_.seek(commit.receipt.first);
         row != nullptr && row->first <= rules::last_of(commit);
         row = calls_.seek(row->first + 1)) {
      rules::StoredCall& stored = row->second;
      stored.has_args = stored.has_args && stored.call.args <= rules::last_of(commit);
      visit(stored);
    }
  }

  std::uint64_t count(rules::RowKind kind, SegmentId segment) override {
    switch (kind) {
      case rules::RowKind::entries:
        if (!entry_counts_) entry_counts_ = count_entries();
        return (*entry_counts_)[segment];
      case rules::RowKind::checkpoints:
        return count_of(db_.query("SELECT count(*) FROM perdure.checkpoint WHERE session = $1",
                                  Params::of(number_)));
      case rules::RowKind::calls:
        return count_of(
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

  Pages<CheckpointFact>::Page fetch_checkpoints(Version from) {
    Rows rows =
        db_.query(fmt::format("SELECT version, {} FROM perdure.checkpoint WHERE session = $1 AND "
                              "version >= $2 ORDER BY version LIMIT $3",
                              rules::ColumnNames::of<CheckpointFact>("")),
                  Params::of(number_, from, page_rows));
    Pages<CheckpointFact>::Page page;
    while (rows.next()) {
      page.emplace_back(rows.number(0), rules::read_row<CheckpointFact>(rows, 1));
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
  Pages<CheckpointFact> checkpoints_{[this](Version from) { return fetch_checkpoints(from); }};
  std::optional<std::map<SegmentId, std::uint64_t>> entry_counts_;  // In one look, by segment.
  Pages<rules::StoredCall> calls_{[this](Position from) { return fetch_calls(from); }};
};

// What only PostgreSQL knows of a session, and then the check that every backend shares.

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

void check_shared(CheckRun& run) {
  std::vector<std::pair<std::int64_t, rules::SharedPart>> parts;
  run.guard({}, "the list of segments", [&] { parts = shared_parts(run.db); });
  for (const auto& [owner, part] : parts) {
    if (!run.go_on()) return;
    PostgresSession session(run.db, owner);
    run.guard(part.heir, fmt::format("segment {}", part.stretch.segment),
              [&] { rules::check_shared(run, session, part); });
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
  PostgresSession session(run.db, number);
  rules::check_history(run, session, *summary, segments);
  run.guard(summary->id, "the session's inbox", [&] { check_inbox(run, session, *summary); });
}

// The store as a whole.

constexpr std::int64_t blobs_at_once = 500;
constexpr std::int64_t chunks_at_once = 8;

void check_blob(CheckRun& run, const Rows& blob) {
  ++run.report().blobs;
  Sha256 hash;
  std::uint64_t size = 0;
  std::int64_t next = 0;
  bool is_gapless = true;
  for (bool more = true; more;) {
    Rows chunks = run.db.query(
        "SELECT number, bytes FROM perdure.chunk WHERE hash = $1 AND number >= $2 ORDER BY number "
        "LIMIT $3",
        Params::of(BytesView{blob.text(0)}, next, chunks_at_once));
    more = static_cast<std::int64_t>(chunks.count()) == chunks_at_once;
    while (chunks.next()) {
      is_gapless = is_gapless && chunks.integer(0) == next;
      next = chunks.integer(0) + 1;
      size += chunks.text(1).size();
      hash.update(chunks.text(1));
    }
  }
  run.report().bytes += size;
  const Digest name = blob.digest(0);
  if (is_gapless && hash.finish() == name && blob.number(1) == size && blob.text(0).size() == 32) {
    return;
  }
  run.found.add(Fault::chain, {},
                fmt::format("blob {} does not match its name or its size", to_hex(name)));
}

void check_blobs(CheckRun& run) {
  std::string last;
  while (run.go_on()) {
    Rows blobs =
        run.db.query("SELECT hash, size FROM perdure.blob WHERE hash > $1 ORDER BY hash LIMIT $2",
                     Params::of(BytesView{last}, blobs_at_once));
    if (blobs.count() == 0) return;
    while (blobs.next()) {
      last = blobs.string(0);
      check_blob(run, blobs);
    }
  }
}

/// One statement, over whole tables if it must; each row is a finding, in words.
struct Question {
  std::string what;
  Fault fault;
  std::string sql;
};

// The rows of a removed session go one by one, and its garbage row last. From one session to the next
// by the index, never through the rows in between.
Question sessions_named_by(std::string_view table) {
  return {
      fmt::format("table {}", table), Fault::reference,
      fmt::format(
          "WITH RECURSIVE named(num) AS (SELECT min(session) FROM perdure.{0} UNION ALL SELECT "
          "(SELECT min(t.session) FROM perdure.{0} t WHERE t.session > n.num) FROM named n WHERE "
          "n.num IS NOT NULL) SELECT format('there are rows of session number %s in table {0}, "
          "and no such session', n.num) FROM named n WHERE n.num IS NOT NULL "
          "AND NOT EXISTS (SELECT FROM perdure.session s WHERE s.num = n.num) "
          "AND NOT EXISTS (SELECT FROM perdure.garbage g WHERE g.session = n.num)",
          table)};
}

Question counter_of(std::string_view name) {
  return {
      "the store's counters", Fault::summary,
      fmt::format("SELECT 'the counter of {0}s is missing or behind: numbers would be used "
                  "twice' WHERE NOT EXISTS (SELECT FROM perdure.{0}_num q WHERE q.last_value >= "
                  "coalesce((SELECT max(num) FROM perdure.{0}), 0))",
                  name)};
}

std::vector<Question> questions() {
  std::vector<Question> all = {
      {"table chunk", Fault::reference,
       "SELECT DISTINCT format('there are chunks of blob %s, and no such blob', encode(c.hash, "
       "'hex')) FROM perdure.chunk c "
       "WHERE NOT EXISTS (SELECT FROM perdure.blob b WHERE b.hash = c.hash)"},
      {"table entry", Fault::reference,
       "SELECT DISTINCT format('there are entries of segment %s, and no such segment', e.segment) "
       "FROM perdure.entry e WHERE NOT EXISTS (SELECT FROM perdure.segment g WHERE g.num = "
       "e.segment AND g.session = e.session)"},
      // A segment of a removed session stays as long as a fork shares it.
      {"table segment", Fault::reference,
       "SELECT format('segment %s belongs to no session, and no fork shares it', g.num) FROM "
       "perdure.segment g WHERE NOT EXISTS (SELECT FROM perdure.session s WHERE s.num = g.session) "
       "AND NOT EXISTS (SELECT FROM perdure.garbage x WHERE x.session = g.session) "
       "AND NOT EXISTS (SELECT FROM perdure.segment c WHERE c.parent = g.num)"},
      {"the store's counters", Fault::summary,
       "SELECT 'the store''s incarnation is missing' WHERE NOT EXISTS (SELECT FROM perdure.meta "
       "WHERE key = 'incarnation' AND starts_with(value, 'sto_'))"},
      {"the ledger's keys", Fault::ledger,
       "SELECT format('key %s is held by more than one call', encode(key, 'hex')) FROM (SELECT "
       "c.key FROM perdure.call c WHERE c.key IS NOT NULL AND c.state IN ('dispatched', "
       "'in_doubt', "
       "'succeeded', 'abandoned') AND EXISTS (SELECT FROM perdure.session s WHERE s.num = "
       "c.session) UNION ALL SELECT k.key FROM perdure.claim k WHERE k.session IS NOT NULL) held "
       "GROUP BY key HAVING count(*) > 1"},
      // A claim is what keeps others from a key: one for each call that holds its key, and no other.
      {"the ledger's claims", Fault::ledger,
       "SELECT format('key %s is held by a call, and not claimed', encode(c.key, 'hex')) FROM "
       "perdure.call c WHERE c.key IS NOT NULL AND c.state IN ('dispatched', 'in_doubt', "
       "'succeeded', 'abandoned') AND NOT EXISTS (SELECT FROM perdure.claim k WHERE k.key = c.key) "
       "UNION ALL SELECT format('key %s is claimed for a call that does not hold it', "
       "encode(k.key, 'hex')) FROM perdure.claim k WHERE k.session IS NULL AND NOT EXISTS (SELECT "
       "FROM perdure.call c WHERE c.session = k.holder AND c.position = k.position AND c.key = "
       "k.key AND c.state IN ('dispatched', 'in_doubt', 'succeeded', 'abandoned'))"},
  };
  for (const char* table : {"receipt", "checkpoint", "call", "message"}) {
    all.push_back(sessions_named_by(table));
  }
  for (const char* name : {"session", "segment", "worker", "message"}) {
    all.push_back(counter_of(name));
  }
  return all;
}

/// What belongs to no session in particular: blobs, keys, counters; and rows that name
/// a session or a segment that is not there.
void check_rest(CheckRun& run) {
  check_shared(run);
  if (!run.report().is_complete) return;
  run.guard({}, "the list of blobs", [&] { check_blobs(run); });
  if (!run.report().is_complete) return;
  for (const Question& question : questions()) {
    run.guard({}, question.what, [&] {
      Rows rows = run.db.query(question.sql);
      while (rows.next()) run.found.add(question.fault, {}, rows.string(0));
    });
  }
}

/// Some statements look at whole tables.
constexpr Duration statement_time_max = std::chrono::hours(24);
constexpr std::int64_t sessions_at_once = 1000;

void check_sessions(CheckRun& run) {
  std::vector<std::int64_t> numbers{0};
  do {
    numbers = run.db
                  .query("SELECT num FROM perdure.session WHERE num > $1 ORDER BY num LIMIT $2",
                         Params::of(numbers.back(), sessions_at_once))
                  .integers();
    for (const std::int64_t number : numbers) {
      if (!run.go_on()) return;
      check_session(run, number);
      run.advance();
    }
  } while (!numbers.empty());
}

CheckReport check_snapshot(Connection& db, const Progress& progress) {
  db.set_patience(statement_time_max);
  db.query("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
  db.query(set_check_savepoint);
  CheckRun run(db, progress);
  run.set_total(count_of(db.query("SELECT count(*) FROM perdure.session")) + 1);
  check_sessions(run);
  if (run.go_on()) {
    check_rest(run);
    run.advance();
    static_cast<void>(run.go_on());
  }
  db.query("COMMIT");
  return run.found.finish();
}

}  // namespace

Result<CheckReport> check_store(const Access& access, const Progress& progress) {
  auto connection = access.client.connect();
  if (!connection) return forward(connection);
  try {
    return check_snapshot(**connection, progress);
  } catch (const PgError& error) {
    return std::unexpected(error.to_error());
  }
}

}  // namespace perdure::postgres
