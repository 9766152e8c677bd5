// A salvage: rows as they are found become a new file.
//
// The original is only ever read, byte by byte: SQLite itself would write to the files
// beside it as soon as it opened them.

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "files/part_file.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/upkeep.hpp"
#include "rules/followed.hpp"
#include "rules/format.hpp"
#include "sqlite/check/check.hpp"
#include "sqlite/engine/connection.hpp"
#include "sqlite/engine/line.hpp"
#include "sqlite/engine/page_layout.hpp"
#include "sqlite/engine/rows.hpp"
#include "sqlite/engine/schema.hpp"
#include "sqlite/engine/summing_vfs.hpp"
#include "sqlite/opening/opening.hpp"
#include "sqlite/salvage/row_finder.hpp"
#include "store/api/limits.hpp"
#include "store/api/location.hpp"

namespace perdure {
namespace sqlite {

// What was found, made one store again: sessions and logs, then the rest, then a count.
//
// Nothing is invented: a position that some row proves and no row fills gets a lost entry
// (rules/soundness.hpp), a session whose row is lost gets one that follows from its log. What
// cannot be proved any more (a chain value, a total) stays as it was found, and a check of the
// new store says so. What was found whole stays as well: a sum of damaged numbers is no better.

namespace {

std::vector<std::int64_t> segments_of_entries(Connection& db) {
  std::vector<std::int64_t> found;
  std::int64_t key = 0;
  while (true) {
    Rows rows = db.query("SELECT id >> 32 FROM entry WHERE id >= ? ORDER BY id LIMIT 1", key);
    if (!rows.next()) return found;
    found.push_back(rows.integer(0));
    if (found.back() >= 0x7FFF'FFFF) return found;
    key = entry_key(static_cast<SegmentId>(found.back()) + 1, 0);
  }
}

// A row that no other row bears out may be a damaged byte's doing.
void drop_impossible(Connection& db) {
  db.run("DELETE FROM entry WHERE id <= 0 OR id & 0xFFFFFFFF = 0");
  db.run("DELETE FROM segment WHERE parent >= num OR first < 1 OR first > 0xFFFFFFFF OR num < 1");
  db.run("DELETE FROM session WHERE num < 1 OR id = ''");
  db.run("DELETE FROM receipt WHERE count < 0 OR count > ? OR first < 1 OR first > 0xFFFFFFFF",
         static_cast<std::int64_t>(batch_entries_max));
}

// A session's number is in the index of ids as well. A row that has another one, and nothing that is
// its own, is a damaged byte's doing: left as it is, it would be a second session of that id.
void mend_numbers(Connection& db) {
  const auto wrong = db.integers(
      "SELECT s.num FROM session s JOIN temp.session_id i ON i.id = s.id WHERE i.num <> s.num AND "
      "s.num IN (SELECT session FROM temp.doubtful) AND i.num NOT IN (SELECT num FROM session)");
  for (const std::int64_t number : wrong) {
    db.run(
        "INSERT OR IGNORE INTO temp.doubtful SELECT i.num FROM temp.session_id i JOIN session s ON "
        "s.id = i.id WHERE s.num = ?",
        number);
    db.run(
        "UPDATE OR IGNORE session SET num = (SELECT i.num FROM temp.session_id i WHERE i.id = "
        "session.id) WHERE num = ?",
        number);
  }
  db.run(
      "DELETE FROM session WHERE num IN (SELECT session FROM temp.doubtful) AND segment IN (SELECT "
      "num FROM segment) AND num NOT IN (SELECT session FROM segment)");
}

void mend_segments(Connection& db) {
  db.run(
      "INSERT OR IGNORE INTO segment SELECT o.num, o.session, o.first, a.parent, "
      "coalesce(a.parent_position, 0) FROM temp.segment_own o "
      "LEFT JOIN temp.segment_above a ON a.num = o.num "
      "WHERE (a.parent IS NULL OR a.parent < o.num) AND (o.num IN (SELECT segment FROM receipt) "
      "OR o.num IN (SELECT segment FROM session) OR o.num IN (SELECT parent FROM segment))");
  db.run(
      "INSERT OR IGNORE INTO segment SELECT segment, session, min(first), NULL, 0 FROM receipt r "
      "WHERE session NOT IN (SELECT num FROM session) OR EXISTS (SELECT 1 FROM entry WHERE id "
      "BETWEEN r.segment << 32 AND r.segment << 32 | 0xFFFFFFFF) GROUP BY segment, session");
  db.run(
      "INSERT OR IGNORE INTO segment SELECT segment, num, CASE WHEN commits = 0 THEN head + 1 ELSE "
      "1 END, NULL, 0 FROM session WHERE segment NOT IN (SELECT num FROM segment) AND (num NOT IN "
      "(SELECT session FROM temp.doubtful) OR num NOT IN (SELECT session FROM segment))");
  db.run("UPDATE segment SET parent = NULL WHERE parent NOT IN (SELECT num FROM segment)");
  // Entries that nothing else speaks of get a session of their own.
  for (const std::int64_t segment : segments_of_entries(db)) {
    const std::uint64_t session = db.number(
        "SELECT max((SELECT coalesce(max(num), 0) FROM session), "
        "(SELECT coalesce(max(session), 0) FROM segment)) + 1");
    db.run("INSERT OR IGNORE INTO segment VALUES (?, ?, 1, NULL, 0)", segment, session);
  }
}

// A removed session leaves segments behind, which forks share, but nothing else.
void mend_sessions(Connection& db) {
  const auto lost = db.integers(
      "SELECT DISTINCT g.session FROM segment g WHERE g.session NOT IN (SELECT num FROM session) "
      "AND g.session NOT IN (SELECT session FROM garbage) AND (g.session IN (SELECT session FROM "
      "receipt UNION SELECT session FROM call UNION SELECT session FROM message UNION SELECT num "
      "FROM temp.session_id) OR NOT EXISTS (SELECT 1 FROM segment c WHERE c.parent = g.num))");
  for (const std::int64_t number : lost) {
    db.run("INSERT OR IGNORE INTO temp.doubtful VALUES (?)", number);
    db.run("INSERT OR IGNORE INTO session SELECT * FROM temp.earlier_session WHERE num = ?",
           number);
    if (db.changes() > 0) continue;
    db.run(
        "INSERT INTO session (num, id, created_at, updated_at, status, wait_reason, title, "
        "opening, "
        "tags, metadata, segment, head, next, version, commits, revision, chain, turns, steps, "
        "tokens_in, tokens_out, cost_micros, attention, fence) SELECT ?1, coalesce((SELECT id FROM "
        "temp.session_id WHERE num = ?1 AND id NOT IN (SELECT id FROM session)), 'salvaged-' || "
        "?1), "
        "coalesce(min(at), 0), coalesce(max(at), 0), 'active', '', '', '', '[]', '{}', 0, 0, 0, 0, "
        "0, 1, zeroblob(32), 0, 0, 0, 0, 0, 0, coalesce(max(fence), 0) FROM receipt "
        "WHERE session = ?1",
        number);
  }
}

// Rows that only an earlier moment has, where nothing says that they are gone for good: a removed
// session is not among the sessions, and a version that prune forgot may be in what it dropped.
void mend_from_earlier(Connection& db) {
  db.run(
      "INSERT OR IGNORE INTO receipt SELECT * FROM temp.earlier_receipt WHERE session IN (SELECT "
      "num FROM session)");
  db.run(
      "INSERT OR IGNORE INTO call SELECT * FROM temp.earlier_call WHERE session IN (SELECT num "
      "FROM session)");
  db.run(
      "INSERT OR IGNORE INTO checkpoint SELECT * FROM temp.earlier_checkpoint c WHERE session IN "
      "(SELECT num FROM session) AND NOT EXISTS (SELECT 1 FROM pruned p WHERE p.segment = "
      "c.segment AND p.first <= c.position AND c.position < p.upto)");
}

struct Known {
  Position last = 0;   // That some row proves.
  Position trust = 0;  // Entries far beyond it are a damaged key's doing.
};

Known last_of(Connection& db, const Part& part) {
  const auto segment = static_cast<std::int64_t>(part.segment);
  {
    Rows rows = db.query(
        "SELECT head FROM session WHERE segment = ? AND num = ? AND num NOT IN (SELECT session "
        "FROM temp.doubtful)",
        segment, part.session);
    if (rows.next()) return {.last = rows.number(0), .trust = rows.number(0)};
  }
  Known known{.last = part.first - 1, .trust = 0};
  for (const char* query :
       {"SELECT max(first + count - 1) FROM receipt WHERE segment = ? AND session = ?",
        "SELECT max(parent_position) FROM segment WHERE parent = ? AND ? IS NOT NULL",
        "SELECT max(position) FROM checkpoint WHERE segment = ? AND session = ?",
        "SELECT max(position) FROM call WHERE segment = ? AND session = ?",
        "SELECT head FROM session WHERE segment = ? AND num = ?"}) {
    Rows rows = db.query(query, segment, part.session);
    if (rows.next() && rows.number(0) <= position_max)
      known.last = std::max(known.last, rows.number(0));
  }
  known.trust = known.last + batch_entries_max;
  Rows rows = db.query("SELECT max(id) & 0xFFFFFFFF FROM entry WHERE id BETWEEN ? AND ?",
                       entry_key(part.segment, part.first), entry_key(part.segment, known.trust));
  if (rows.next()) known.last = std::max(known.last, rows.number(0));
  return known;
}

// Returns how many of them are lost: not there at an earlier moment either.
std::uint64_t fill_lost(Connection& db, const Stretch& stretch) {
  std::uint64_t lost = 0;
  for (Position at = stretch.first; at <= stretch.last; ++at) {
    db.run("INSERT OR IGNORE INTO entry SELECT * FROM temp.earlier_entry WHERE id = ?",
           entry_key(stretch.segment, at));
    if (db.changes() > 0) continue;
    ++lost;
    db.run(
        "INSERT OR IGNORE INTO entry (id, channel, kind, fold, codec, at, hash, body) "
        "VALUES (?, '', '', 0, 1, 0, zeroblob(32), x'')",
        entry_key(stretch.segment, at));
  }
  return lost;
}

void mend_entries(Connection& db, const Part& part, SalvageReport& report) {
  const Known known = last_of(db, part);
  db.run("DELETE FROM entry WHERE id BETWEEN ? AND ? AND NOT id BETWEEN ? AND ?",
         entry_key(part.segment, 0), entry_key(part.segment, position_max),
         entry_key(part.segment, part.first), entry_key(part.segment, known.trust));
  if (known.last < part.first) return;
  std::vector<Stretch> lost;
  scan_entries(db, {part.segment, part.first, known.last},
               {.entry =
                    [&](Entry&& entry) {
                      ++report.entries;
                      if (entry.condition == Condition::damaged) ++report.entries_damaged;
                    },
                .missing =
                    [&](Position first, Position last) {
                      for (const Stretch& left : not_pruned(db, {part.segment, first, last})) {
                        // More than a session can have lost is a damaged number.
                        if (left.last - left.first < limit_max) lost.push_back(left);
                      }
                    }});
  for (const Stretch& stretch : lost) {
    const std::uint64_t gone = fill_lost(db, stretch);
    report.entries += stretch.last - stretch.first + 1 - gone;
    report.entries_lost += gone;
  }
}

std::vector<Part> segments_by_number(Connection& db) {
  std::vector<Part> parts;
  Rows rows = db.query(sql(select_segment, "ORDER BY num"));
  while (rows.next()) parts.push_back(read_segment(rows));
  return parts;
}

// The newest of a session's segments is its active one.
void mend_place(Connection& db, std::int64_t session) {
  db.run(
      "UPDATE session SET segment = (SELECT max(num) FROM segment g WHERE g.session = session.num) "
      "WHERE num = ?",
      session);
  db.run(
      "UPDATE session SET head = coalesce((SELECT max(id) & 0xFFFFFFFF FROM entry WHERE id BETWEEN "
      "(session.segment << 32) AND (session.segment << 32 | 0xFFFFFFFF)), (SELECT parent_position "
      "FROM segment g WHERE g.num = session.segment), 0) WHERE num = ?",
      session);
  db.run(
      "UPDATE session SET next = max(head + 1, (SELECT max(first) FROM segment g WHERE g.session = "
      "session.num), coalesce((SELECT max(first + count) FROM receipt r WHERE r.session = "
      "session.num), 1)) WHERE num = ?",
      session);
}

void mend_counts(Connection& db, std::int64_t session) {
  db.run(
      "UPDATE session SET version = max(coalesce((SELECT max(version) FROM checkpoint c WHERE "
      "c.session = num), 0), "
      "coalesce((SELECT max(version) FROM receipt r WHERE r.session = num), 0)), "
      "commits = coalesce((SELECT max(number) FROM receipt r WHERE r.session = num), 0), "
      // More than there are: some of them are lost, and still in doubt.
      "attention = max((SELECT count(*) FROM call WHERE call.session = num AND state = "
      "'in_doubt'), "
      "CASE WHEN attention BETWEEN 0 AND 1000000 THEN attention ELSE 0 END) WHERE num = ?",
      session);
  db.run(
      "UPDATE session SET chain = (SELECT chain FROM receipt r WHERE r.session = num ORDER BY "
      "number "
      "DESC LIMIT 1) WHERE num = ? AND commits > 0",
      session);
}

std::optional<Place> place_of(Connection& db, std::int64_t session) {
  Rows rows = db.query("SELECT segment, head FROM session WHERE num = ?", session);
  return rows.next() ? std::optional(Place{rows.number(0), rows.number(1)}) : std::nullopt;
}

void mend_tally(Connection& db, std::int64_t session, const Place& place) {
  const auto tally = count_tally(db, place);
  if (!tally) return;
  db.run(
      "UPDATE session SET turns = ?, steps = ?, tokens_in = ?, tokens_out = ?, cost_micros = ? "
      "WHERE num = ?",
      tally->turns, tally->steps, tally->tokens_in, tally->tokens_out, tally->cost_micros, session);
}

// A row that is what was written stays so: any other row may be damaged, and no hash tells of the
// numbers of an entry.
void mend_summary(Connection& db, std::int64_t session) {
  if (!db.query("SELECT 1 FROM temp.doubtful WHERE session = ?", session).next()) return;
  mend_place(db, session);
  mend_counts(db, session);
  if (const auto place = place_of(db, session)) mend_tally(db, session, *place);
}

void mend_counters(Connection& db) {
  for (const auto& [name, highest] :
       std::map<std::string, std::string>{{"sessions", "SELECT max(num) FROM session"},
                                          {"segments", "SELECT max(num) FROM segment"}}) {
    db.run(fmt::format("UPDATE meta SET value = max(coalesce(({}), 0), coalesce((SELECT value FROM "
                       "temp.old_meta o WHERE o.key = meta.key AND typeof(value) = 'integer' AND "
                       "value < 0x7FFFFFFF), 0)) WHERE key = ?",
                       highest),
           name);
  }
}

// Rows beside the log: words, blobs and messages, each made to make sense again. Where a row
// contradicts itself, its index may still say what it said.

void mend_words(Connection& db) {
  db.run("UPDATE session SET tags = '[]' WHERE NOT json_valid(tags)");
  db.run("UPDATE session SET metadata = '{}' WHERE NOT json_valid(metadata)");
  db.run(
      "UPDATE session SET status = 'active' WHERE status NOT IN ('active', 'waiting', 'paused', "
      "'completed', 'failed', 'cancelled')");
}

// A session is found by its id in the index. Where the page of its own row is wrong, that one counts.
void mend_ids(Connection& db) {
  db.run(
      "UPDATE OR IGNORE session SET id = (SELECT i.id FROM temp.session_id i WHERE i.num = "
      "session.num) WHERE num IN (SELECT session FROM temp.doubtful) AND num IN (SELECT num FROM "
      "temp.session_id)");
}

// Likewise the key that a call holds, and whatever else an index says of a row: readers went by it.
void mend_by_index(Connection& db) {
  db.run(
      "UPDATE call SET key = k.key FROM temp.call_key k, temp.doubtful_row d WHERE k.session = "
      "call.session AND k.position = call.position AND d.name = 'call' AND d.a = call.session AND "
      "d.b = call.position AND k.key IS NOT call.key");
  db.run(
      "UPDATE call SET state = s.state FROM temp.call_state s, temp.doubtful_row d WHERE s.session "
      "= call.session AND s.position = call.position AND d.name = 'call' AND d.a = call.session "
      "AND d.b = call.position");
  db.run(
      "UPDATE entry SET channel = c.channel FROM temp.entry_channel c, temp.doubtful_row d WHERE "
      "c.num = entry.id AND d.name = 'entry' AND d.a = entry.id");
  db.run(
      "UPDATE checkpoint SET label = l.label FROM temp.checkpoint_label l, temp.doubtful_row d "
      "WHERE l.session = checkpoint.session AND l.version = checkpoint.version AND d.name = "
      "'checkpoint' AND d.a = checkpoint.session AND d.b = checkpoint.version");
}

// A blob is found by its name in the index. If the name in its own row is another one, the one
// that its bytes have is right.
void mend_blobs(Connection& db) {
  std::vector<std::pair<std::int64_t, Digest>> named;
  {
    Rows rows = db.query(
        "SELECT b.num, h.hash, b.bytes FROM blob b JOIN temp.blob_hash h ON h.num = b.num WHERE "
        "h.hash <> b.hash AND h.hash NOT IN (SELECT hash FROM blob)");
    while (rows.next()) {
      const Digest name = rows.digest(1);
      if (sha256(rows.text(2)) == name) named.emplace_back(rows.integer(0), name);
    }
  }
  for (const auto& [number, name] : named) {
    db.run("UPDATE blob SET hash = ? WHERE num = ?", name, number);
  }
}

std::vector<std::int64_t> messages_without_id(Connection& db) {
  std::vector<std::int64_t> found;
  Rows rows = db.query("SELECT num, id FROM message");
  while (rows.next()) {
    if (!MessageId::parse(rows.string(1))) found.push_back(rows.integer(0));
  }
  return found;
}

void mend_messages(Connection& db) {
  // To whom it goes is in the index as well, by which it is found.
  db.run(
      "UPDATE OR IGNORE message SET session = m.session FROM temp.message_id m, "
      "temp.doubtful_row d WHERE m.num = message.num AND d.name = 'message' AND d.a = message.num "
      "AND m.session IN (SELECT num FROM session)");
  for (const std::int64_t number : messages_without_id(db)) {
    db.run(
        "UPDATE OR IGNORE message SET id = (SELECT id FROM temp.message_id m WHERE m.num = "
        "message.num) WHERE num = ? AND num IN (SELECT num FROM temp.message_id)",
        number);
  }
  for (const std::int64_t number : messages_without_id(db)) {
    db.run("UPDATE message SET id = 'salvaged-' || num WHERE num = ?", number);
  }
  db.run("UPDATE message SET kind = 'salvaged' WHERE kind = ''");
  db.run("UPDATE message SET codec = 1 WHERE codec NOT BETWEEN 0 AND 2");
  // What is consumed has no body any more.
  db.run("UPDATE message SET consumed = body IS NULL WHERE consumed <> (body IS NULL)");
}

void mend_rest(Connection& db) {
  mend_ids(db);
  mend_by_index(db);
  mend_words(db);
  mend_blobs(db);
  mend_messages(db);
}

// Of a file that holds all rows that were found.
void mend_rows(Connection& db, SalvageReport& report) {
  drop_impossible(db);
  mend_numbers(db);
  mend_segments(db);
  mend_sessions(db);
  mend_from_earlier(db);
  for (const Part& part : segments_by_number(db)) mend_entries(db, part, report);
  mend_rest(db);
  for (const std::int64_t session : db.integers("SELECT num FROM session ORDER BY num")) {
    mend_summary(db, session);
  }
  mend_counters(db);
}

// What a check would find in a salvaged store, found without being asked: a person who reads that
// all is saved would not look. Pages and trees are new and need no look.

// Counts the sessions, and those of which nothing is amiss; notes what is.
void survey(Connection& db, SalvageReport& report) {
  const Progress nobody;
  CheckRun run(db, nobody);
  for (const std::int64_t number : readable_sessions(db)) {
    const std::uint64_t before = run.report().found;
    run.guard({}, fmt::format("session number {}", number), [&] { check_session(run, number); });
    ++report.sessions;
    if (run.report().found == before) ++report.whole;
  }
  check_rest(run);
  CheckReport check = run.found.finish();
  report.damage = std::move(check.damage);
  report.found = check.found;
}

// The new file.

constexpr const char* found_beside = R"sql(
CREATE TEMP TABLE old_meta (key TEXT PRIMARY KEY, value);
CREATE TEMP TABLE session_id (id TEXT, num INTEGER PRIMARY KEY);
CREATE TEMP TABLE doubtful (session INTEGER PRIMARY KEY);
CREATE TEMP TABLE blob_hash (hash BLOB, num INTEGER PRIMARY KEY);
CREATE TEMP TABLE message_id (session INTEGER, id TEXT, num INTEGER PRIMARY KEY);
CREATE TEMP TABLE call_key (key BLOB, session INTEGER, position INTEGER, PRIMARY KEY (session, position));
CREATE TEMP TABLE call_state (state TEXT, session INTEGER, position INTEGER, PRIMARY KEY (session, position));
CREATE TEMP TABLE entry_channel (channel TEXT, id INTEGER, num INTEGER PRIMARY KEY);
CREATE TEMP TABLE checkpoint_label (session INTEGER, label TEXT, version INTEGER, PRIMARY KEY (session, version));
CREATE TEMP TABLE doubtful_row (name TEXT, a INTEGER, b INTEGER, PRIMARY KEY (name, a, b));
CREATE TEMP TABLE segment_own (session INTEGER, first INTEGER, num INTEGER PRIMARY KEY);
CREATE TEMP TABLE segment_above (parent INTEGER, parent_position INTEGER, num INTEGER PRIMARY KEY);
)sql";

// Tables of which rows of an earlier moment are kept aside: in none of them can such a row undo
// what was done since. A message, for one, may have been consumed.
constexpr std::array earlier_tables = {"session", "entry", "receipt", "checkpoint", "call"};

int bind(sqlite3_stmt* statement, int index, const Value& value) {
  switch (value.kind) {
    case Value::Kind::null:
      return sqlite3_bind_null(statement, index);
    case Value::Kind::integer:
      return sqlite3_bind_int64(statement, index, value.integer);
    case Value::Kind::real:
      return sqlite3_bind_double(statement, index, value.real);
    case Value::Kind::text:
      return sqlite3_bind_text64(statement, index, value.bytes.data(), value.bytes.size(),
                                 SQLITE_STATIC, SQLITE_UTF8);
    case Value::Kind::blob:
      break;
  }
  return sqlite3_bind_blob64(statement, index, value.bytes.data(), value.bytes.size(),
                             SQLITE_STATIC);
}

// The new file that a salvage writes: rows as they are found, then what is missing between them.
// While it is filled the file needs no journal: if anything goes wrong it is thrown away.
class SalvagedFile {
 public:
  /// Makes an empty store there. Nothing of it is safe before finish().
  SalvagedFile(const std::string& path, IdSource& ids)
      : db_(path, "", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE) {
    db_.execute("PRAGMA synchronous = OFF; PRAGMA cache_size = -64000;");
    set_file_layout(db_);
    db_.execute("PRAGMA journal_mode = OFF;");
    db_.execute(found_beside);
    db_.execute("BEGIN");
    migrate(db_, ids);
    for (const char* table : earlier_tables) {
      db_.execute(fmt::format("CREATE TEMP TABLE earlier_{0} AS SELECT * FROM {0} WHERE 0", table));
    }
    db_.execute("CREATE INDEX temp.earlier_entry_id ON earlier_entry(id)");
  }

  /// Keeps the row, unless one with its key is there already.
  void add(const FoundRow& row) {
    insert(row, row.shape->into);
    if (row.is_doubtful && row.shape->name == "session") {
      db_.run("INSERT OR IGNORE INTO temp.doubtful VALUES (?)", row.values.front().integer);
    }
    if (row.is_doubtful && row.shape->is_of_a_table()) {
      db_.run("INSERT OR IGNORE INTO temp.doubtful_row VALUES (?, ?, ?)", row.shape->name,
              row.values[0].integer, row.values[1].integer);
    }
  }

  /// Keeps a row of an earlier moment aside, to be used where it is the only one.
  void add_earlier(const FoundRow& row) {
    if (std::ranges::find(earlier_tables, row.shape->name) == earlier_tables.end()) return;
    insert(row, fmt::format("temp.earlier_{}", row.shape->name));
  }

  /// Makes one store of the rows. From here on the file is one, once it is synced.
  void finish(IdSource& ids, SalvageReport& report) {
    mend_rows(db_, report);
    // A target asks for the marks that this store made. Of arrivals too little is known here.
    db_.run("DELETE FROM move WHERE side <> 0");
    begin_anew(db_, ids, "salvaged from a damaged store");
    survey(db_, report);
    db_.execute("COMMIT");
  }

 private:
  void insert(const FoundRow& row, std::string_view into) {
    const std::vector<std::string_view> marks(row.shape->columns.size(), "?");
    sqlite3_stmt* statement = db_.prepared(
        fmt::format("INSERT OR IGNORE INTO {} VALUES ({})", into, fmt::join(marks, ", ")));
    int index = 0;
    for (const Value& value : row.values) {
      const int code = bind(statement, ++index, value);
      if (code != SQLITE_OK) throw error_of(db_.handle(), code);
    }
    db_.finish(statement);
  }

  Connection db_;
};

Result<void> check_paths(const std::string& from, const std::string& to) {
  std::error_code unknown;
  // A store that was never written back is all in its WAL.
  const std::string first = std::filesystem::exists(from, unknown) ? from : from + "-wal";
  if (!std::filesystem::is_regular_file(first, unknown)) {
    return fail(ErrorCode::not_found, fmt::format("there is no file {}", shown_location(from)));
  }
  return check_new_place(to);
}

// Another format is believed of a page that is as it was written; of any other it is damage.
Result<void> check_format_of(const PageSource& source) {
  const auto first = source.read(1);
  if (!first || !source.is_proven(1, *first)) return {};
  const std::uint32_t format = big_endian_32(*first, format_at);
  const bool is_ours = format >= rules::first_format && format <= format_number;
  if (format == 0 || is_ours) return {};
  return check_numbers(big_endian_32(*first, application_at), format);
}

// Rows wander between pages. One that was on a page whose newest copy is a damaged frame is still
// where it was before, at the last moment of which everything is whole.
void add_earlier_rows(const std::string& from, SalvagedFile& file) {
  const PageSource source(Bytes::of_file(from), Bytes::of_file(from + "-wal"),
                          LogPart::up_to_damage);
  find_rows(source, {.row = [&](FoundRow&& row) { file.add_earlier(row); }, .go_on = {}});
}

Result<SalvageReport> salvage(const std::string& from, const std::string& to,
                              const Progress& progress) {
  const PageSource source(Bytes::of_file(from), Bytes::of_file(from + "-wal"));
  if (auto known = check_format_of(source); !known) return forward(known);
  auto part = PartFile::open_for(to);
  if (!part) return forward(part);
  SalvageReport report;
  std::uint64_t rows = 0;
  bool stopped = false;
  Step step{.done = 0, .total = source.page_count()};
  {
    SalvagedFile file(part->path(), random_ids());
    const auto take = [&](FoundRow&& row) {
      if (row.shape->is_of_a_table()) ++rows;
      file.add(row);
    };
    const auto go_on = [&](std::uint64_t) {
      step.done = std::min(step.done + 1, step.total);
      stopped = progress && !progress(step);
      return !stopped;
    };
    const auto pages = find_rows(source, {.row = take, .go_on = go_on});
    if (stopped) return fail(ErrorCode::unavailable, "the salvage was told to stop");
    if (rows == 0) {
      return fail(ErrorCode::corrupted,
                  fmt::format("nothing in {} looks like a Perdure store", from));
    }
    report.pages_unreadable = pages.unreadable;
    if (source.has_gap()) add_earlier_rows(from, file);
    file.finish(random_ids(), report);
  }
  if (auto named = part->give_name(to); !named) return forward(named);
  return report;
}

}  // namespace
}  // namespace sqlite

Result<SalvageReport> salvage_store(const std::string& from, const std::string& to,
                                    const Progress& progress) {
  if (auto checked = sqlite::check_paths(from, to); !checked) return forward(checked);
  try {
    // As when a store is opened: a link to one leads to the files beside it, too.
    const std::string original = std::filesystem::weakly_canonical(from).string();
    return rules::followed(
        progress, [&](const Progress& told) { return sqlite::salvage(original, to, told); });
  } catch (const sqlite::SqliteError& error) {
    return fail(ErrorCode::unavailable, fmt::format("cannot write {}: {}", to, error.what()));
  } catch (const std::system_error& error) {
    return fail(ErrorCode::unavailable, error.what());
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::unavailable, "out of memory");
  }
}

}  // namespace perdure
