// The tables and the views; then which formats there are, and how one becomes the next.

#include "sqlite/engine/schema.hpp"

#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <string>
#include <string_view>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "rules/format.hpp"
#include "sqlite/engine/connection.hpp"
#include "sqlite/engine/rows.hpp"

namespace perdure::sqlite {

// The tables of a store. Until a release is published they are changed in place; what a release
// wrote is never changed again, but by a step to the next format (schema.hpp).
//
// Everything of one session is stored together: its entries under (segment, position)
// packed into the rowid, so that they need no index and a read is one range scan;
// receipts, checkpoints and calls under the session's number. Rows that grow with
// the history hold nothing but what they add.
//
// entry.fold: 0 append, 1 replace. entry.codec: 0 json (body is TEXT), 1 bytes,
// 2 blob (TEXT of the reference). An entry that was erased has no body, and -1 less its codec;
// without a body and with its codec it is damaged. Times are milliseconds since 1970;
// worker.until is milliseconds since the machine `boot` started.
// Numbers of sessions, segments and workers are counted in `meta`: a number that was used
// once never means anything else.
//
// What upkeep has to remember:
// `pruned`: entries that were dropped because nothing that is kept can see them, one
// row for each run of positions from which they would have been seen, first <= p <
// upto: how many they were, and what they added to the totals.
// `claim`: the keys that calls of removed sessions still hold.
// `claimed`: the key that a call of a bundle says it holds, while that is not accepted; `call.key`
// is NULL then, and `claim.key` a key that nothing has (rules::claim_key).
// `garbage`: sessions that are removed, and whose rows are not all gone yet; the id is
// for those of their calls that hold a key and are not yet claims.
// `staged`: when a blob was put again; its own row would have to be written as a whole.
// `call_result_before`: almost always empty. A result older than its call is the only one that a
// fork can share with others.
// `session.restored`: came out of a backup, and has not been looked at since.
//
// What moves between stores have to remember (transfer.hpp):
// `session.moved`: where it was moved to (rules/moves.hpp); NULL if it is here.
// `move`: side 0: the last attempt that marked sessions as moved to a store, `done`; side 1: the
// arrival that is open from a store: its attempt, `ticket`, and how far it has come, `cursor`.
// `since` is 1 there. Stores go by their incarnation.
// `transit`: what belongs to an arrival, also removed sessions whose segments come along. `origin` is
// its number in the source. (Rows of side 0 are of an earlier version.)
// `arriving`: the rows of sessions that are not here yet, as they will be in `session`; their
// other rows are in place. Each owner that arrives has a row in `garbage`, without an id, until
// it is released: whatever becomes of the move, nothing is left behind. `origin_segment` is the
// active one, as the source numbers it.
// `arrived_segment`: which segment of the source became which one here, while the arrival is open.
//
// No row of these tables may look like one of another: salvage knows rows by their shape.

namespace {

/// Columns that `session` and `arriving` share, where a session comes from and how it is.
constexpr const char* origin_columns = R"sql(id TEXT NOT NULL UNIQUE,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  status TEXT NOT NULL,
  wait_reason TEXT NOT NULL,
  wake_at INTEGER,
  title TEXT NOT NULL,
  opening TEXT NOT NULL,
  tags TEXT NOT NULL,
  metadata TEXT NOT NULL,
  parent TEXT,
  parent_position INTEGER,
  lineage TEXT,)sql";
constexpr const char* state_columns = R"sql(head INTEGER NOT NULL,
  next INTEGER NOT NULL,
  version INTEGER NOT NULL,
  commits INTEGER NOT NULL,
  revision INTEGER NOT NULL,
  chain BLOB NOT NULL,
  turns INTEGER NOT NULL,
  steps INTEGER NOT NULL,
  tokens_in INTEGER NOT NULL,
  tokens_out INTEGER NOT NULL,
  cost_micros INTEGER NOT NULL,
  attention INTEGER NOT NULL,)sql";

constexpr const char* tables = R"sql(
CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;

CREATE TABLE session (
  num INTEGER PRIMARY KEY,
  {origin}
  segment INTEGER NOT NULL,
  {state}
  owner INTEGER,
  owned_since INTEGER,
  fence INTEGER NOT NULL,
  restored INTEGER NOT NULL DEFAULT 0,
  moved TEXT
);
CREATE INDEX session_runnable ON session(status, wake_at) WHERE status IN ('active', 'waiting');
CREATE INDEX session_owner ON session(owner) WHERE owner IS NOT NULL;

CREATE TABLE segment (
  num INTEGER PRIMARY KEY,
  session INTEGER NOT NULL,
  first INTEGER NOT NULL,
  parent INTEGER,
  parent_position INTEGER NOT NULL
);
CREATE INDEX segment_session ON segment(session, first);
CREATE INDEX segment_parent ON segment(parent, parent_position) WHERE parent IS NOT NULL;

CREATE TABLE entry (
  id INTEGER PRIMARY KEY,  -- segment << 32 | position
  channel TEXT NOT NULL,
  kind TEXT NOT NULL,
  fold INTEGER NOT NULL,
  codec INTEGER NOT NULL,
  at INTEGER NOT NULL,
  turns INTEGER,
  steps INTEGER,
  tokens_in INTEGER,
  tokens_out INTEGER,
  cost_micros INTEGER,
  hash BLOB NOT NULL,
  body
);
CREATE INDEX entry_value ON entry(channel, id) WHERE fold = 1;
CREATE INDEX entry_blob ON entry(body) WHERE codec = 2;

CREATE TABLE receipt (
  session INTEGER NOT NULL,
  batch TEXT NOT NULL,
  number INTEGER NOT NULL,
  segment INTEGER NOT NULL,
  first INTEGER NOT NULL,
  count INTEGER NOT NULL,
  head INTEGER NOT NULL,
  version INTEGER,
  at INTEGER NOT NULL,
  fence INTEGER NOT NULL,
  chain BLOB NOT NULL,
  PRIMARY KEY (session, batch)
) WITHOUT ROWID;

CREATE TABLE checkpoint (
  session INTEGER NOT NULL,
  version INTEGER NOT NULL,
  segment INTEGER NOT NULL,
  position INTEGER NOT NULL,
  at INTEGER NOT NULL,
  reason TEXT NOT NULL,
  label TEXT NOT NULL,
  metadata TEXT NOT NULL,
  turns INTEGER NOT NULL,
  steps INTEGER NOT NULL,
  tokens_in INTEGER NOT NULL,
  tokens_out INTEGER NOT NULL,
  cost_micros INTEGER NOT NULL,
  PRIMARY KEY (session, version)
) WITHOUT ROWID;
CREATE INDEX checkpoint_label ON checkpoint(session, label, version) WHERE label <> '';

CREATE TABLE call (
  session INTEGER NOT NULL,
  position INTEGER NOT NULL,
  args INTEGER NOT NULL,
  result INTEGER,
  tool TEXT NOT NULL,
  provider_id TEXT NOT NULL,
  effect TEXT NOT NULL,
  key BLOB,
  state TEXT NOT NULL,
  attempts INTEGER NOT NULL,
  failures INTEGER NOT NULL,
  fence INTEGER NOT NULL,
  segment INTEGER NOT NULL,
  intended_at INTEGER NOT NULL,
  dispatched_at INTEGER,
  deadline INTEGER,
  settled_at INTEGER,
  who TEXT NOT NULL,
  why TEXT NOT NULL,
  claimed BLOB,
  PRIMARY KEY (session, position)
) WITHOUT ROWID;
CREATE INDEX call_key ON call(key) WHERE key IS NOT NULL;
CREATE INDEX call_claimed ON call(claimed) WHERE claimed IS NOT NULL;
CREATE INDEX call_open ON call(state, session, position)
  WHERE state IN ('intended', 'dispatched', 'in_doubt');
CREATE INDEX call_result ON call(session, result) WHERE key IS NOT NULL AND result IS NOT NULL;
CREATE INDEX call_result_before ON call(result) WHERE key IS NOT NULL AND result < position;

CREATE TABLE message (
  num INTEGER PRIMARY KEY,
  session INTEGER NOT NULL,
  id TEXT NOT NULL,
  kind TEXT NOT NULL,
  codec INTEGER NOT NULL,
  at INTEGER NOT NULL,
  consumed INTEGER NOT NULL,
  body,
  UNIQUE (session, id)
);
CREATE INDEX message_waiting ON message(session, num) WHERE consumed = 0;
CREATE INDEX message_blob ON message(body) WHERE codec = 2;

CREATE TABLE blob (
  num INTEGER PRIMARY KEY,
  hash BLOB NOT NULL UNIQUE,
  size INTEGER NOT NULL,
  staged_at INTEGER NOT NULL,
  bytes BLOB NOT NULL
);

CREATE TABLE worker (
  num INTEGER PRIMARY KEY,  -- never used twice: it also names a lock
  id TEXT NOT NULL UNIQUE,
  host TEXT NOT NULL,
  pid INTEGER NOT NULL,
  boot TEXT NOT NULL,
  lease_time INTEGER NOT NULL,
  until INTEGER NOT NULL
);

CREATE TABLE resource (
  name TEXT PRIMARY KEY,
  worker INTEGER,
  fence INTEGER NOT NULL,
  since INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE pruned (
  segment INTEGER NOT NULL,
  first INTEGER NOT NULL,
  upto INTEGER NOT NULL,
  entries INTEGER NOT NULL,
  turns INTEGER NOT NULL,
  steps INTEGER NOT NULL,
  tokens_in INTEGER NOT NULL,
  tokens_out INTEGER NOT NULL,
  cost_micros INTEGER NOT NULL,
  PRIMARY KEY (segment, first)
) WITHOUT ROWID;

CREATE TABLE claim (
  key BLOB PRIMARY KEY,
  session TEXT NOT NULL,
  position INTEGER NOT NULL,
  tool TEXT NOT NULL,
  effect TEXT NOT NULL,
  state TEXT NOT NULL,
  attempts INTEGER NOT NULL,
  failures INTEGER NOT NULL,
  fence INTEGER NOT NULL,
  intended_at INTEGER NOT NULL,
  dispatched_at INTEGER,
  settled_at INTEGER,
  claimed BLOB
) WITHOUT ROWID;

CREATE TABLE garbage (session INTEGER PRIMARY KEY, id TEXT NOT NULL);

CREATE TABLE staged (blob INTEGER PRIMARY KEY, at INTEGER NOT NULL);

CREATE TABLE move (
  peer TEXT NOT NULL,
  side INTEGER NOT NULL,
  ticket INTEGER NOT NULL,
  since INTEGER NOT NULL,
  done INTEGER NOT NULL,
  cursor TEXT NOT NULL,
  PRIMARY KEY (peer, side)
) WITHOUT ROWID;

CREATE TABLE transit (
  owner INTEGER PRIMARY KEY,
  side INTEGER NOT NULL,
  peer TEXT NOT NULL,
  origin INTEGER NOT NULL
);
CREATE UNIQUE INDEX transit_origin ON transit(side, peer, origin);

CREATE TABLE arriving (
  num INTEGER PRIMARY KEY,
  {origin}
  origin_segment INTEGER NOT NULL,
  {state}
  fence INTEGER NOT NULL,
  restored INTEGER NOT NULL
);

CREATE TABLE arrived_segment (
  peer TEXT NOT NULL,
  origin INTEGER NOT NULL,
  num INTEGER NOT NULL,
  PRIMARY KEY (peer, origin)
) WITHOUT ROWID;
)sql";

void make_tables(Connection& connection, IdSource& ids) {
  connection.execute(fmt::format(fmt::runtime(tables), fmt::arg("origin", origin_columns),
                                 fmt::arg("state", state_columns)));
  connection.run(
      "INSERT INTO meta VALUES ('incarnation', ?), ('syncs', 0), ('workers', 0), ('sessions', 0), "
      "('segments', 0)",
      mint<rules::StoreTag>(ids).text());
}

// The views of a store: read by people, never by the store itself. They are recreated
// whenever the format changes.

// For a person with the plain sqlite3 shell: the log in words, and the three tables
// of the book's chapter 21, each checkpoint as of its version. Only a body that the
// store itself labelled as JSON (TEXT) is shown as JSON: SQLite's versions differ in
// what else they take for JSON, and in how deep it may be.
constexpr const char* views = R"sql(
CREATE VIEW sessions AS
SELECT id AS session_id,
       strftime('%Y-%m-%dT%H:%M:%fZ', created_at / 1000.0, 'unixepoch') AS created_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', updated_at / 1000.0, 'unixepoch') AS updated_at,
       status
FROM session;

CREATE VIEW entries AS
SELECT s.id AS session_id,
       e.id & 0xFFFFFFFF AS position,
       e.channel,
       e.kind,
       strftime('%Y-%m-%dT%H:%M:%fZ', e.at / 1000.0, 'unixepoch') AS created_at,
       e.body
FROM entry e JOIN segment g ON g.num = e.id >> 32
             JOIN session s ON s.num = g.session;

CREATE VIEW checkpoints AS
SELECT s.id AS session_id,
       c.version,
       strftime('%Y-%m-%dT%H:%M:%fZ', c.at / 1000.0, 'unixepoch') AS created_at,
       (WITH RECURSIVE line(segment, upto) AS (
          SELECT c.segment, c.position
          UNION ALL
          SELECT g.parent, g.parent_position
          FROM line JOIN segment g ON g.num = line.segment WHERE g.parent < g.num),
        said(position, fold, body) AS (
          SELECT e.id & 0xFFFFFFFF, e.fold, e.body
          FROM line JOIN entry e ON e.id > (line.segment << 32)
                                AND e.id <= ((line.segment << 32) | line.upto)
          WHERE e.channel = 'transcript')
        SELECT json_group_array(CASE WHEN typeof(body) = 'text' AND json_valid(body)
                                     THEN json(body) ELSE CAST(body AS TEXT) END)
        FROM (SELECT body FROM said
              WHERE position >= coalesce((SELECT max(position) FROM said WHERE fold = 1), 0)
              ORDER BY position)) AS transcript_json,
       (WITH RECURSIVE line(segment, upto) AS (
          SELECT c.segment, c.position
          UNION ALL
          SELECT g.parent, g.parent_position
          FROM line JOIN segment g ON g.num = line.segment WHERE g.parent < g.num)
        SELECT e.body
        FROM line JOIN entry e ON e.id > (line.segment << 32)
                              AND e.id <= ((line.segment << 32) | line.upto)
        WHERE e.channel = 'plan' AND e.fold = 1
        ORDER BY e.id & 0xFFFFFFFF DESC LIMIT 1) AS plan_json,
       c.cost_micros / 1e6 AS budget_spent_usd
FROM checkpoint c JOIN session s ON s.num = c.session;

-- Arguments and results stand in the log, alone or as a block of a message.
CREATE VIEW tool_calls AS
WITH whole AS (
  SELECT s.id AS session_id, c.*,
         (WITH RECURSIVE line(segment, upto) AS (
            SELECT c.segment, c.args
            UNION ALL
            SELECT g.parent, min(line.upto, g.parent_position)
            FROM line JOIN segment g ON g.num = line.segment WHERE g.parent < g.num)
          SELECT e.body FROM line JOIN entry e ON e.id = ((line.segment << 32) | c.args)
          WHERE line.upto >= c.args) AS args_body,
         (SELECT e.body FROM segment g JOIN entry e ON e.id = ((g.num << 32) | c.result)
          WHERE g.session = c.session) AS result_body
  FROM call c JOIN session s ON s.num = c.session)
SELECT session_id,
       CASE provider_id WHEN '' THEN CAST(position AS TEXT) ELSE provider_id END AS call_id,
       tool AS tool_name,
       coalesce((SELECT json_extract(b.value, '$.args')
                 FROM json_each(CASE WHEN typeof(args_body) = 'text' AND json_valid(args_body)
                                     THEN args_body ELSE '{}' END,
                                '$.blocks') b
                 WHERE CASE b.type WHEN 'object'
                       THEN json_extract(b.value, '$.kind') = 'tool_call'
                        AND json_extract(b.value, '$.id') = provider_id END), args_body) AS args_json,
       lower(hex(key)) AS idempotency_key,
       CASE WHEN state IN ('intended', 'dispatched', 'in_doubt') THEN 'issued'
            WHEN state = 'succeeded' THEN 'completed'
            ELSE 'failed' END AS status,
       coalesce((SELECT json_extract(b.value, '$.content')
                 FROM json_each(CASE WHEN typeof(result_body) = 'text' AND json_valid(result_body)
                                     THEN result_body ELSE '{}' END,
                                '$.blocks') b
                 WHERE CASE b.type WHEN 'object'
                       THEN json_extract(b.value, '$.kind') = 'tool_result'
                        AND json_extract(b.value, '$.call_id') = provider_id END), result_body) AS result_text,
       strftime('%Y-%m-%dT%H:%M:%fZ', coalesce(dispatched_at, intended_at) / 1000.0, 'unixepoch')
         AS started_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', settled_at / 1000.0, 'unixepoch') AS completed_at
FROM whole;
)sql";

void make_views(Connection& connection) {
  for (const char* view : {"sessions", "entries", "checkpoints", "tool_calls"}) {
    connection.execute(std::string("DROP VIEW IF EXISTS ") + view);
  }
  connection.execute(views);
}

}  // namespace

namespace {

constexpr std::int64_t application_id = 0x50445552;  // "PDUR"

bool is_empty(Connection& connection) {
  return connection.number("SELECT count(*) FROM sqlite_schema") == 0;
}

static_assert(format_number == rules::first_format + static_cast<std::int64_t>(own_steps.size()));

}  // namespace

std::int64_t last_format(FormatSteps steps) {
  return rules::first_format + static_cast<std::int64_t>(steps.size());
}

void set_file_layout(Connection& connection) {
  if (!is_empty(connection)) return;
  connection.execute("PRAGMA page_size = 8192;");
  connection.make_room_for_sums();
  // Last: this one writes the first page.
  connection.execute("PRAGMA auto_vacuum = INCREMENTAL;");
}

std::int64_t read_format(Connection& connection) {
  return connection.find_integer("PRAGMA user_version").value_or(0);
}

Result<void> check_format(Connection& connection, FormatSteps steps) {
  if (is_empty(connection)) return {};
  return check_numbers(connection.find_integer("PRAGMA application_id").value_or(0),
                       read_format(connection), steps);
}

Result<void> check_numbers(std::int64_t application, std::int64_t found, FormatSteps steps) {
  if (application != application_id) {
    return fail(ErrorCode::corrupted,
                "the file is an SQLite database of another program, not a Perdure store");
  }
  if (found > last_format(steps)) {
    return fail(ErrorCode::unsupported,
                fmt::format("the store has format {}, this version of Perdure reads up to {}: "
                            "use a newer Perdure",
                            found, last_format(steps)));
  }
  if (found < 1) return fail(ErrorCode::corrupted, "the store has no format number");
  if (found < rules::first_format) {
    return fail(ErrorCode::unsupported, rules::unreleased_format(found));
  }
  return {};
}

void migrate(Connection& connection, IdSource& ids, FormatSteps steps) {
  const std::int64_t found = read_format(connection);
  if (found == last_format(steps)) return;
  if (found == 0) make_tables(connection, ids);
  const std::size_t done = found == 0 ? 0 : static_cast<std::size_t>(found - rules::first_format);
  for (const FormatStep step : steps.subspan(done)) step(connection);
  make_views(connection);
  connection.execute(fmt::format("PRAGMA user_version = {}", last_format(steps)));
  connection.execute(fmt::format("PRAGMA application_id = {}", application_id));
}

void require_tables(Connection& connection) {
  for (const std::string_view select :
       {select_session, select_entry, select_checkpoint, select_call}) {
    static_cast<void>(connection.query(sql(select, "WHERE 0")).next());
  }
  for (const std::string_view table : store_tables) {
    static_cast<void>(connection.query(fmt::format("SELECT * FROM {} WHERE 0", table)).next());
  }
}

std::string read_incarnation(Connection& connection) {
  Rows rows = connection.query("SELECT value FROM meta WHERE key = 'incarnation'");
  return rows.next() ? rows.string(0) : std::string();
}

}  // namespace perdure::sqlite
