// A check: the file with SQLite's own check and its pages, each session, what belongs to none.

#include "sqlite/check/check.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <fmt/format.h>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
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
#include "rules/session_check.hpp"
#include "rules/stored_rows.hpp"
#include "rules/stored_session.hpp"
#include "sqlite/engine/connection.hpp"
#include "sqlite/engine/line.hpp"
#include "sqlite/engine/page_layout.hpp"
#include "sqlite/engine/roles.hpp"
#include "sqlite/engine/rows.hpp"
#include "sqlite/engine/schema.hpp"
#include "sqlite/engine/summing_vfs.hpp"
#include "sqlite/opening/opening.hpp"
#include "store/api/limits.hpp"
#include "store/api/transfer.hpp"

namespace perdure::sqlite {

void CheckRun::guard(const std::optional<SessionId>& session, std::string_view what,
                     const std::function<void()>& work) {
  try {
    work();
  } catch (const SqliteError& error) {
    if (!error.is_damage()) throw;
    found.add(Fault::file, session, fmt::format("{} cannot be read: {}", what, error.what()));
  }
}

// SQLite's own check, in sentences that name a table and a page, and the definitions
// of the tables, compared with those of a store made now.

namespace {

using TreeNames = std::map<std::uint32_t, std::string>;

// By the first page of its tree, what it is: "table entry".
TreeNames names_by_root(Connection& db) {
  TreeNames names;
  Rows rows = db.query("SELECT rootpage, type, name FROM sqlite_schema WHERE rootpage > 0");
  while (rows.next()) {
    names[static_cast<std::uint32_t>(rows.number(0))] =
        fmt::format("{} {}", rows.text(1), rows.text(2));
  }
  names[1] = "the list of tables";
  return names;
}

// "Tree 7 page 9 cell 3: …" says the root of a tree, which only SQLite knows by number.
std::string name_tree(std::string_view line, const TreeNames& names) {
  constexpr std::string_view tree = "Tree ";
  if (!line.starts_with(tree)) return std::string(line);
  std::uint32_t root = 0;
  const std::string_view rest = line.substr(tree.size());
  const auto read = std::from_chars(rest.data(), rest.data() + rest.size(), root);
  const auto name = names.find(root);
  if (read.ec != std::errc{} || name == names.end()) return std::string(line);
  return fmt::format("in {},{}", name->second, std::string_view(read.ptr, rest.end()));
}

class FileCheck {
 public:
  explicit FileCheck(CheckRun& run) : run_(run) {
    run.guard({}, "the list of tables", [&] { names_ = names_by_root(run.db); });
  }

  /// False if it ended before its end.
  bool check(std::string_view pragma) {
    try {
      Rows rows = run_.db.query(pragma);
      while (rows.next()) add_lines(rows.text(0));
      return true;
    } catch (const SqliteError& error) {
      if (!error.is_damage()) throw;
      add_lines(fmt::format("a check of it ended early: {}", error.what()));
      return false;
    }
  }

 private:
  void add_lines(std::string_view text) {
    while (!text.empty()) {
      const std::string_view line = text.substr(0, text.find('\n'));
      text.remove_prefix(std::min(text.size(), line.size() + 1));
      if (line.empty() || line == "ok" || line.starts_with("***")) continue;
      if (!seen_.insert(std::string(line)).second) continue;
      run_.found.add(Fault::file, {},
                     fmt::format("the file is damaged: {}", name_tree(line, names_)));
    }
  }

  CheckRun& run_;
  TreeNames names_;
  std::set<std::string> seen_;
};

std::map<std::string, std::string> definitions(Connection& db) {
  std::map<std::string, std::string> found;
  Rows rows =
      db.query("SELECT type, name, coalesce(sql, '') FROM sqlite_schema WHERE type <> 'view'");
  while (rows.next()) found[fmt::format("{} {}", rows.text(0), rows.text(1))] = rows.string(2);
  return found;
}

void check_definitions(CheckRun& run) {
  Connection fresh(":memory:", "", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  migrate(fresh, random_ids());
  const auto there = definitions(run.db);
  for (const auto& [name, definition] : definitions(fresh)) {
    const auto found = there.find(name);
    if (found != there.end() && found->second == definition) continue;
    run.found.add(Fault::file, {},
                  fmt::format("the definition of {} {}", name,
                              found == there.end() ? "is missing" : "was changed"));
  }
}

// The file's own structure, and the definitions of its tables.
void check_file(CheckRun& run) {
  FileCheck file(run);
  if (!file.check("PRAGMA integrity_check(1000)")) {
    for (const std::string_view table : store_tables) {
      file.check(fmt::format("PRAGMA integrity_check({})", table));
    }
  }
  run.guard({}, "the list of tables", [&] { check_definitions(run); });
}

// All pages are read through SQLite, in the check's own transaction; what comes from the main
// file on the way is compared with its sum (summing_vfs.hpp). As long as the transaction lasts,
// no page that it reads from there is written: checkpoints stop short of what a reader
// needs. So this takes no turn, and needs no look at the WAL.

constexpr std::uint64_t pages_between_progress = 4096;

class PageCheck {
 public:
  explicit PageCheck(CheckRun& run) : run_(run) {}

  /// False if it was asked to stop.
  [[nodiscard]] bool read_all() {
    Rows rows = run_.db.query("SELECT data FROM sqlite_dbpage");
    for (; rows.next(); ++read_) {
      if (read_ % pages_between_progress == 0 && !run_.go_on()) return false;
    }
    return true;
  }

  void name_wrong_ones() {
    std::vector<std::uint32_t> wrong = run_.wrong_pages;
    std::ranges::sort(wrong);
    const auto repeated = std::ranges::unique(wrong);
    wrong.erase(repeated.begin(), repeated.end());
    if (wrong.empty()) return;
    run_.guard({}, "the list of tables", [&] { names_ = names_by_root(run_.db); });
    for (const std::uint32_t page : wrong) {
      if (pages_.was_never_written(page)) continue;
      if (run_.report().damage.size() < damage_max) {
        name(page);
      } else {
        run_.found.add({});  // Only counted.
      }
    }
  }

 private:
  void name(std::uint32_t page) {
    const Place place = find_place(page);
    const auto name = names_.find(place.root);
    const std::string tree = name == names_.end() ? std::string() : name->second;
    const auto session = tree == "table entry" ? find_session(place) : std::nullopt;
    const char* map =
        page > 1 && map_page_of(page, pages_.layout()) == page ? " of the map of pages" : "";
    const char* free = pages_.about(page).use == PageUse::free ? ", which is free," : "";
    run_.found.add(
        Fault::file, session,
        fmt::format("the file is damaged: {}{}page {}{}{} does not match its sum",
                    tree.empty() ? "" : "in " + tree, tree.empty() ? "" : ", ", page, map, free));
  }

  /// Where a page is in its tree.
  struct Place {
    std::uint32_t root = 0;      ///< 0 if it is in none.
    std::uint32_t leaf = 0;      ///< Itself, or the page with the row that it is a part of.
    std::uint32_t overflow = 0;  ///< Where that row continues; 0 if the page is none of a row's.
  };

  // Up from page to page. A damaged map may lead anywhere, also in a circle.
  Place find_place(std::uint32_t page) {
    Place place{.leaf = page};
    for (std::uint64_t steps = 0; steps < read_; ++steps) {
      const MapEntry entry = pages_.about(page);
      if (entry.use == PageUse::root) {
        place.root = page;
        return place;
      }
      if (entry.use == PageUse::free || entry.use == PageUse::unknown) return {};
      if (entry.use == PageUse::overflow_first) {
        place.overflow = page;
        place.leaf = entry.parent;
      }
      page = entry.parent;
    }
    return {};
  }

  // Whose entries the page holds; empty if it holds those of several sessions, or does not say.
  std::optional<SessionId> find_session(const Place& place) {
    const std::string bytes = pages_.read(place.leaf);
    const auto page = parse_page(bytes, pages_.layout().usable, false);
    if (!page || page->kind != PageKind::table_leaf) return std::nullopt;
    std::set<std::uint64_t> segments;
    for (const Cell& cell : page->cells) {
      if (place.overflow != 0 && cell.overflow != place.overflow) continue;
      segments.insert(static_cast<std::uint64_t>(cell.rowid) >> 32U);
    }
    if (segments.size() != 1) return std::nullopt;
    std::optional<SessionId> session;
    run_.guard({}, "the list of segments", [&] {
      Rows rows = run_.db.query(
          "SELECT s.id FROM segment g JOIN session s ON s.num = g.session WHERE g.num = ?",
          *segments.begin());
      if (!rows.next()) return;
      if (auto id = SessionId::parse(rows.string(0)); id) session = *std::move(id);
    });
    return session;
  }

  CheckRun& run_;
  PageReader pages_{run_.db};
  std::uint64_t read_ = 0;
  TreeNames names_;
};

// Every page of the main file against its sum. Nothing to be done in a file without sums.
void check_pages(CheckRun& run) {
  if (run.db.reserved_bytes() != sum_bytes) return;
  PageCheck pages(run);
  run.guard({}, "a page of the file", [&] {
    if (pages.read_all()) pages.name_wrong_ones();
  });
}

// Nothing else in the file can tell.
void check_wal(CheckRun& run, std::optional<Timestamp> found_at) {
  run.guard({}, "the note of a lost WAL", [&] {
    if (!found_at) found_at = find_loss(run.db);
  });
  if (!found_at) return;
  run.found.add(
      Fault::file, {},
      fmt::format("the WAL lacks commits that were acknowledged: it was deleted, cut or damaged "
                  "before {}; the store is at an earlier moment",
                  to_iso8601(*found_at)));
}

}  // namespace

// One session's rows, its calls, and the check that all backends share.
//
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

  void commits(const std::function<bool(const ReceiptFact&)>& visit) override {
    Rows rows = db_.query(fmt::format("SELECT {} FROM receipt WHERE session = ? ORDER BY number",
                                      rules::ColumnNames::of<ReceiptFact>("")),
                          session_.number);
    while (rows.next() && visit(rules::read_row<ReceiptFact>(rows))) continue;
  }

  void entries(const Stretch& stretch, const EntryVisitor& visit) override {
    scan_entries(db_, stretch, visit);
  }

  std::vector<Stretch> not_pruned(const Stretch& stretch) override {
    return sqlite::not_pruned(db_, stretch);
  }

  std::optional<CheckpointFact> checkpoint(Version version) override {
    Rows rows = db_.query(fmt::format("SELECT {} FROM checkpoint WHERE session = ? AND version = ?",
                                      rules::ColumnNames::of<CheckpointFact>("")),
                          session_.number, version);
    if (!rows.next()) return std::nullopt;
    return rules::read_row<CheckpointFact>(rows);
  }

  void calls(const ReceiptFact& commit,
             const std::function<void(const rules::StoredCall&)>& visit) override {
    Rows rows = db_.query(select_stored_call, session_.number, commit.receipt.first,
                          rules::last_of(commit), session_.id.text());
    while (rows.next()) {
      rules::StoredCall stored = rules::read_stored_call(rows);
      const Call& call = stored.call;
      // The ledger against the log: a call's intent, arguments and result are entries.
      stored.has_intent = is_accounted_for(db_, {commit.segment, call.position});
      // Arguments may come after the intent, within its commit.
      stored.has_args = is_on_line(db_, {commit.segment, rules::last_of(commit)}, call.args);
      stored.has_result = !call.result || is_result_there(db_, session_, call);
      visit(stored);
    }
  }

  std::uint64_t count(rules::RowKind kind, SegmentId segment) override {
    switch (kind) {
      case rules::RowKind::entries:
        return db_.number("SELECT count(*) FROM entry WHERE id BETWEEN ? AND ?",
                          entry_key(segment, 0), entry_key(segment, position_max));
      case rules::RowKind::checkpoints:
        return db_.number("SELECT count(*) FROM checkpoint WHERE session = ?", session_.number);
      case rules::RowKind::calls:
        return db_.number("SELECT count(*) FROM call WHERE session = ?", session_.number);
    }
    return 0;
  }

  std::optional<Tally> count_tally(Place place) override { return sqlite::count_tally(db_, place); }

  bool has_blob(const Body& body) override {
    if (body.codec() != Codec::blob) return true;
    const auto ref = body.blob();
    return ref && find_blob(db_, *ref);
  }

 private:
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

// The store as a whole. Sessions and segments that other rows name are looked up by
// skipping from one to the next, never by reading the rows in between.

namespace {

constexpr std::uint64_t chunk_bytes = 1 << 20;

Digest hash_blob(Connection& db, std::int64_t number, std::uint64_t& size) {
  BlobReader blob(db, number);
  size = blob.size();
  Sha256 hash;
  for (std::uint64_t offset = 0; offset < size; offset += chunk_bytes) {
    hash.update(blob.read(offset, std::min(chunk_bytes, size - offset)));
  }
  return hash.finish();
}

// Goes from one key to the next: `next` selects the first one above a key, and `visit` returns the
// one to continue from. In a damaged page keys may be in any order, and this have no end.
template <class Visit>
void skip_through(CheckRun& run, std::string_view next, std::int64_t above, Visit visit) {
  while (run.go_on()) {
    const auto key = run.db.find_integer(next, above);
    if (!key) return;
    if (*key <= above) throw SqliteError(SQLITE_CORRUPT, "its keys are out of order");
    above = visit(*key);
  }
}

void check_blob(CheckRun& run, std::int64_t number) {
  Rows rows = run.db.query("SELECT hash, size FROM blob WHERE num = ?", number);
  if (!rows.next()) return;
  ++run.report().blobs;
  std::uint64_t size = 0;
  const Digest name = rows.digest(0);
  const bool is_right = hash_blob(run.db, number, size) == name && rows.number(1) == size &&
                        rows.text(0).size() == 32;
  run.report().bytes += size;
  if (is_right) return;
  run.found.add(Fault::chain, {},
                fmt::format("blob {} does not match its name or its size", to_hex(name)));
}

void check_blobs(CheckRun& run) {
  skip_through(
      run, "SELECT num FROM blob WHERE num > ? ORDER BY num LIMIT 1", 0, [&](std::int64_t number) {
        run.guard({}, fmt::format("blob number {}", number), [&] { check_blob(run, number); });
        return number;
      });
}

bool is_session_known(Connection& db, std::int64_t session) {
  return db
      .query(
          "SELECT 1 FROM session WHERE num = ? UNION ALL SELECT 1 FROM garbage "
          "WHERE session = ?1",
          session)
      .next();
}

// The rows of a removed session go one by one, and its garbage row last.
void check_sessions_named_by(CheckRun& run, std::string_view table) {
  const std::string next =
      fmt::format("SELECT session FROM {} WHERE session > ? ORDER BY session LIMIT 1", table);
  skip_through(run, next, std::numeric_limits<std::int64_t>::min(), [&](std::int64_t session) {
    if (is_session_known(run.db, session)) return session;
    run.found.add(
        Fault::reference, {},
        fmt::format("there are rows of session number {} in table {}, and no such session", session,
                    table));
    return session;
  });
}

// A segment of a removed session stays as long as a fork shares it.
bool is_segment_needed(Connection& db, SegmentId segment) {
  Rows rows = db.query("SELECT session FROM segment WHERE num = ?", segment);
  if (!rows.next()) return false;
  if (is_session_known(db, rows.integer(0))) return true;
  return db.query("SELECT 1 FROM segment WHERE parent = ?", segment).next();
}

void check_segments_named_by_entries(CheckRun& run) {
  skip_through(
      run, "SELECT id FROM entry WHERE id > ? ORDER BY id LIMIT 1", -1, [&](std::int64_t key) {
        const auto segment = static_cast<SegmentId>(key) >> 32U;
        if (!is_segment_needed(run.db, segment)) {
          run.found.add(
              Fault::reference, {},
              fmt::format("there are entries of segment {}, and no such segment", segment));
        }
        return segment >= 0x7FFF'FFFF ? std::numeric_limits<std::int64_t>::max()
                                      : entry_key(segment + 1, 0) - 1;
      });
}

void check_counter(CheckRun& run, std::string_view name, std::string_view highest) {
  Rows rows = run.db.query("SELECT value FROM meta WHERE key = ?", name);
  Rows most = run.db.query(highest);
  const bool is_there = rows.next();
  most.next();
  if (is_there && rows.integer(0) >= most.integer(0)) return;
  run.found.add(
      Fault::summary, {},
      fmt::format("the counter of {} is missing or behind: numbers would be used twice", name));
}

void check_counters(CheckRun& run) {
  check_counter(run, "sessions", "SELECT max(num) FROM session");
  check_counter(run, "segments", "SELECT max(num) FROM segment");
  check_counter(run, "workers", "SELECT max(num) FROM worker");
  Rows rows = run.db.query("SELECT value FROM meta WHERE key = 'incarnation'");
  if (rows.next() && rows.text(0).starts_with("sto_")) return;
  run.found.add(Fault::summary, {}, "the store's incarnation is missing");
}

void check_keys(CheckRun& run) {
  Rows rows = run.db.query(
      "SELECT key FROM (SELECT key FROM call WHERE key IS NOT NULL AND state IN "
      "('dispatched', 'in_doubt', 'succeeded', 'abandoned') AND session NOT IN (SELECT num FROM "
      "arriving) UNION ALL SELECT key FROM claim) "
      "GROUP BY key HAVING count(*) > 1");
  while (rows.next()) {
    run.found.add(Fault::ledger, {},
                  fmt::format("key {} is held by more than one call", to_hex(rows.digest(0))));
  }
}

}  // namespace

void check_rest(CheckRun& run) {
  run.guard({}, "the list of segments", [&] { check_shared(run); });
  run.guard({}, "the list of blobs", [&] { check_blobs(run); });
  for (const char* table : {"receipt", "checkpoint", "call", "message"}) {
    run.guard({}, fmt::format("table {}", table), [&] { check_sessions_named_by(run, table); });
  }
  run.guard({}, "table entry", [&] { check_segments_named_by_entries(run); });
  run.guard({}, "the store's counters", [&] { check_counters(run); });
  run.guard({}, "the ledger's keys", [&] { check_keys(run); });
}

// One read transaction from beginning to end: commits continue meanwhile, but the
// WAL cannot be restarted before it is over.

Result<CheckReport> check_store(Access access, const std::optional<Timestamp>& wal_lost_at,
                                const Progress& progress) {
  // Apart: a page that is in memory already would not be read from the file.
  return access.readers.read_apart([&](Connection& db) -> Result<CheckReport> {
    CheckRun run(db, progress);
    const auto sessions = readable_sessions(db);
    run.set_total(sessions.size() + 3);
    if (!run.go_on()) return run.found.finish();
    check_pages(run);
    run.advance();
    if (!run.go_on()) return run.found.finish();
    check_wal(run, wal_lost_at);
    check_file(run);
    run.advance();
    for (const std::int64_t number : sessions) {
      if (!run.go_on()) return run.found.finish();
      run.guard({}, fmt::format("session number {}", number), [&] { check_session(run, number); });
      run.advance();
    }
    if (!run.go_on()) return run.found.finish();
    check_rest(run);
    run.advance();
    static_cast<void>(run.go_on());
    return run.found.finish();
  });
}

}  // namespace perdure::sqlite
