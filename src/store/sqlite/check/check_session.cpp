// Rows of one session, each looked at by itself: what can be said without its history.

#include "sqlite/check/check_session.hpp"

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
#include "sqlite/check/check_run.hpp"
#include "sqlite/engine/connection.hpp"
#include "sqlite/engine/line.hpp"
#include "sqlite/engine/rows.hpp"

namespace perdure::sqlite {

namespace {

bool is_parent_there(Connection& db, const Part& part) {
  return part.parent && db.query("SELECT 1 FROM segment WHERE num = ?", *part.parent).next();
}

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

std::optional<rules::StoredSummary> check_summary_row(CheckRun& run, std::int64_t number) {
  Rows rows = run.db.query(
      "SELECT id, segment, head, next, version, commits, chain, turns, steps, tokens_in, "
      "tokens_out, cost_micros, attention, status, tags, metadata, lineage, parent, owner, "
      "(SELECT 1 FROM worker w WHERE w.num = session.owner) FROM session WHERE num = ?",
      number);
  if (!rows.next()) return std::nullopt;
  rules::StoredSummary session{.number = number,
                               .id = stored_id<SessionId>(rows.text(0)),
                               .segment = rows.number(1),
                               .head = rows.number(2),
                               .next = rows.number(3),
                               .version = rows.number(4),
                               .commits = rows.number(5),
                               .chain = rows.digest(6),
                               .tally = read_tally(rows, 7),
                               .attention = rows.integer(12)};
  const auto broken = rules::find_bad_word({.status = rows.string(13),
                                            .tags = rows.string(14),
                                            .metadata = rows.string(15),
                                            .lineage = rows.string(16),
                                            .has_parent = !rows.is_null(17)});
  if (!broken.empty()) {
    run.found.add(Fault::summary, session.id, fmt::format("the session's row: {}", broken));
  }
  if (session.id.empty()) {
    run.found.add(Fault::summary, {}, fmt::format("session number {} has no proper id", number));
  }
  if (!rows.is_null(18) && rows.is_null(19)) {
    run.found.add(Fault::reference, session.id, "the session's owner is not an enrolled worker");
  }
  return session;
}

std::vector<Part> check_segments(CheckRun& run, const rules::StoredSummary& session) {
  std::vector<Part> parts;
  Rows rows = run.db.query(sql(select_segment, "WHERE session = ? ORDER BY num"), session.number);
  while (rows.next()) {
    const Part part = read_segment(rows);
    const auto broken = rules::find_bad_segment(part, parts.empty() ? nullptr : &parts.back(),
                                                is_parent_there(run.db, part));
    if (!broken.empty()) {
      run.found.add(Fault::reference, session.id,
                    fmt::format("segment {} of the session {}", part.segment, broken));
    }
    parts.push_back(part);
  }
  if (parts.empty()) run.found.add(Fault::reference, session.id, "the session has no segment");
  return parts;
}

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

bool is_accounted_for(Connection& db, Place place) {
  const auto key = entry_key(place.segment, place.position);
  if (db.query("SELECT 1 FROM entry WHERE id = ?", key).next()) return true;
  return not_pruned(db, {place.segment, place.position, place.position}).empty();
}

bool is_blob_there(Connection& db, const Body& body) {
  if (body.codec() != Codec::blob) return true;
  const auto ref = body.blob();
  return ref && db.query("SELECT 1 FROM blob WHERE hash = ? AND size = ?", blob_view(ref->digest),
                         ref->size)
                    .next();
}

// The ledger against the log: a call's intent, arguments and result are entries.

namespace {

// The columns that read_call() does not read come after those it does.
constexpr std::string_view select_stored_call =
    "SELECT ?4, position, args, result, tool, provider_id, effect, key, state, attempts, failures, "
    "fence, intended_at, dispatched_at, deadline, settled_at, who, why, claimed, segment FROM call "
    "WHERE session = ?1 AND position BETWEEN ?2 AND ?3 ORDER BY position";

rules::StoredCall read_stored_call(const Rows& rows) {
  rules::StoredCall stored;
  stored.call = read_call(rows);
  stored.segment = rows.number(19);
  stored.has_known_words = effect_class_from(rows.text(6)) && call_state_from(rows.text(8)) &&
                           (rows.is_null(7) || rows.text(7).size() == sizeof(Digest));
  return stored;
}

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

}  // namespace

void visit_calls(Connection& db, const rules::StoredSummary& session,
                 const rules::StoredCommit& commit,
                 const std::function<void(const rules::StoredCall&)>& visit) {
  Rows rows =
      db.query(select_stored_call, session.number, commit.first, commit.last(), session.id.text());
  while (rows.next()) {
    rules::StoredCall stored = read_stored_call(rows);
    const Call& call = stored.call;
    stored.has_intent = is_accounted_for(db, {commit.segment, call.position});
    // Arguments may come after the intent, within its commit.
    stored.has_args = is_on_line(db, {commit.segment, commit.last()}, call.args);
    stored.has_result = !call.result || is_result_there(db, session, call);
    visit(stored);
  }
}

// The rows of one session in an SQLite file, for the check that every backend shares.

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
