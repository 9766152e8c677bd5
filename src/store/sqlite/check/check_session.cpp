// One session's rows, its calls, and the check that all backends share.

#include <algorithm>
#include <cstdint>
#include <fmt/format.h>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "perdure/core/id.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/upkeep.hpp"
#include "rules/session_check.hpp"
#include "rules/soundness.hpp"
#include "rules/stored_session.hpp"
#include "sqlite/check/check.hpp"
#include "sqlite/engine/connection.hpp"
#include "sqlite/engine/line.hpp"
#include "sqlite/engine/rows.hpp"

namespace perdure::sqlite {

// Rows of one session, each looked at by itself: what can be said without its history.

namespace {

// What the part's entries add. Empty if not all of them are there, or one cannot be right.
std::optional<Tally> count_entries(Connection& db, const Part& part, std::uint64_t& entries) {
  Tally tally;
  Rows rows = db.query(
      "SELECT turns, steps, tokens_in, tokens_out, cost_micros, hash = zeroblob(32) FROM entry "
      "WHERE id BETWEEN ? AND ?",
      entry_key(part.segment, part.first), entry_key(part.segment, part.last));
  while (rows.next()) {
    const Tally added = read_tally(rows, 0);
    if (rows.integer(5) != 0 || !rules::is_possible(added)) return std::nullopt;
    tally += added;
    ++entries;
  }
  return tally;
}

Tally count_pruned(Connection& db, const Part& part, std::uint64_t& entries) {
  Tally tally;
  Rows rows = db.query(
      "SELECT turns, steps, tokens_in, tokens_out, cost_micros, entries FROM pruned "
      "WHERE segment = ? AND upto <= ?",
      part.segment, part.last);
  while (rows.next()) {
    tally += read_tally(rows, 0);
    entries += rows.number(5);
  }
  return tally;
}

}  // namespace

std::optional<Tally> count_tally(Connection& db, Place place) {
  Tally tally;
  for (const Part& part : line_to(db, place)) {
    if (part.last < part.first) continue;
    std::uint64_t entries = 0;
    const auto added = count_entries(db, part, entries);
    if (!added) return std::nullopt;
    tally += *added;
    tally += count_pruned(db, part, entries);
    if (entries != part.last - part.first + 1) return std::nullopt;
  }
  return tally;
}

// The rows of one session in an SQLite file, for the check that every backend shares.

namespace {

/// Whether the segment has the entry, or had it before it was pruned.
bool is_accounted_for(Connection& db, Place place) {
  const auto key = entry_key(place.segment, place.position);
  if (db.query("SELECT 1 FROM entry WHERE id = ?", key).next()) return true;
  return not_pruned(db, {place.segment, place.position, place.position}).empty();
}

// The columns that read_call() does not read come after those it does.
constexpr std::string_view select_stored_call =
    "SELECT ?4, position, args, result, tool, provider_id, effect, key, state, attempts, failures, "
    "fence, intended_at, dispatched_at, deadline, settled_at, who, why, claimed, segment FROM call "
    "WHERE session = ?1 AND position BETWEEN ?2 AND ?3 ORDER BY position";

bool is_on_line(Connection& db, Place place, Position position) {
  const auto parts = line_to(db, place);
  const auto part = std::ranges::find_if(parts, [position](const Part& candidate) {
    return position >= candidate.first && position <= candidate.last;
  });
  return part != parts.end() && is_accounted_for(db, {part->segment, position});
}

// A result is an entry of the session's own, on whichever line was active then.
bool is_result_there(Connection& db, const rules::StoredSummary& session, const Call& call) {
  Rows rows = db.query(
      "SELECT num FROM segment WHERE session = ? AND first <= ? ORDER BY first DESC, num DESC "
      "LIMIT 1",
      session.number, *call.result);
  if (rows.next()) return is_accounted_for(db, {rows.number(0), *call.result});
  return *call.result < call.position;
}

class SqliteSession final : public rules::StoredSession {
 public:
  SqliteSession(Connection& db, const rules::StoredSummary& session) : db_(db), session_(session) {}

  void commits(const std::function<bool(const rules::StoredCommit&)>& visit) override {
    Rows rows = db_.query(
        "SELECT batch, number, segment, first, count, head, version, at, chain FROM receipt "
        "WHERE session = ? ORDER BY number",
        session_.number);
    while (rows.next() && visit(rules::read_commit(rows))) continue;
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
    return rules::read_stored_checkpoint(rows, 0);
  }

  void calls(const rules::StoredCommit& commit,
             const std::function<void(const rules::StoredCall&)>& visit) override {
    Rows rows = db_.query(select_stored_call, session_.number, commit.first, commit.last(),
                          session_.id.text());
    while (rows.next()) {
      rules::StoredCall stored = rules::read_stored_call(rows);
      const Call& call = stored.call;
      // The ledger against the log: a call's intent, arguments and result are entries.
      stored.has_intent = is_accounted_for(db_, {commit.segment, call.position});
      // Arguments may come after the intent, within its commit.
      stored.has_args = is_on_line(db_, {commit.segment, commit.last()}, call.args);
      stored.has_result = !call.result || is_result_there(db_, session_, call);
      visit(stored);
    }
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

  bool has_blob(const Body& body) override {
    if (body.codec() != Codec::blob) return true;
    const auto ref = body.blob();
    return ref &&
           db_.query("SELECT 1 FROM blob WHERE hash = ? AND size = ?", ref->digest, ref->size)
               .next();
  }

 private:
  static std::uint64_t number_of(Rows rows) { return rows.next() ? rows.number(0) : 0; }

  Connection& db_;
  const rules::StoredSummary& session_;
};

std::optional<rules::StoredSummary> check_summary_row(CheckRun& run, std::int64_t number) {
  Rows rows = run.db.query(
      "SELECT id, segment, head, next, version, commits, chain, turns, steps, tokens_in, "
      "tokens_out, cost_micros, attention, status, tags, metadata, lineage, parent, owner, "
      "(SELECT 1 FROM worker w WHERE w.num = session.owner) FROM session WHERE num = ?",
      number);
  if (!rows.next()) return std::nullopt;
  return rules::check_summary_row(run, number, rows);
}

std::vector<Part> check_segments(CheckRun& run, const rules::StoredSummary& session) {
  return rules::check_segments(
      run, session.id,
      run.db.query("SELECT g.num, g.session, g.first, g.parent, g.parent_position, (SELECT 1 FROM "
                   "segment p WHERE p.num = g.parent) FROM segment g WHERE g.session = ? ORDER BY "
                   "g.num",
                   session.number));
}

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
  return rules::read_shared_parts(db.query(
      "SELECT g.session, g.num, g.first, (SELECT max(c.parent_position) FROM segment c WHERE "
      "c.parent = g.num), (SELECT s.id FROM segment c JOIN session s ON s.num = c.session "
      "WHERE c.parent = g.num ORDER BY s.num LIMIT 1) FROM segment g "
      "WHERE g.session NOT IN (SELECT num FROM session) AND g.session NOT IN (SELECT owner FROM "
      "transit) "
      "AND EXISTS (SELECT 1 FROM segment c WHERE c.parent = g.num) ORDER BY g.session, g.num"));
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
