// Format 1.
//
// Everything of one session lies together: its entries under (segment, position)
// packed into the rowid, so that they need no index and a read is one range scan;
// receipts, checkpoints and calls under the session's number. Rows that grow with
// the history hold nothing but what they add.
//
// entry.fold: 0 append, 1 replace. entry.codec: 0 json (body is TEXT), 1 bytes,
// 2 blob (TEXT of the reference). A body of NULL was erased. Times are milliseconds
// since 1970; worker.until is milliseconds since the machine `boot` started.

#include "sqlite/schema.hpp"

#include <array>
#include <cstddef>
#include <fmt/format.h>

#include "perdure/core/id.hpp"

namespace perdure::sqlite {
namespace {

struct StoreTag {
  static constexpr std::string_view prefix = "sto_";
};

constexpr std::int64_t application_id = 0x50445552;  // "PDUR"

constexpr const char* tables = R"sql(
CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;

CREATE TABLE session (
  num INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
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
  lineage TEXT,
  segment INTEGER NOT NULL,
  head INTEGER NOT NULL,
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
  attention INTEGER NOT NULL,
  owner INTEGER,
  owned_since INTEGER,
  fence INTEGER NOT NULL
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
  PRIMARY KEY (session, position)
) WITHOUT ROWID;
CREATE INDEX call_key ON call(key) WHERE key IS NOT NULL;
CREATE INDEX call_open ON call(state, session, position)
  WHERE state IN ('intended', 'dispatched', 'in_doubt');

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
)sql";

// For a person with the plain sqlite3 shell: the log in words, and the three tables
// of the book's chapter 21, each checkpoint as of its version.
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
          FROM line JOIN segment g ON g.num = line.segment WHERE g.parent IS NOT NULL),
        said(position, fold, body) AS (
          SELECT e.id & 0xFFFFFFFF, e.fold, e.body
          FROM line JOIN entry e ON e.id > (line.segment << 32)
                                AND e.id <= ((line.segment << 32) | line.upto)
          WHERE e.channel = 'transcript')
        SELECT json_group_array(CASE WHEN json_valid(body) THEN json(body) ELSE CAST(body AS TEXT) END)
        FROM (SELECT body FROM said
              WHERE position >= coalesce((SELECT max(position) FROM said WHERE fold = 1), 0)
              ORDER BY position)) AS transcript_json,
       (WITH RECURSIVE line(segment, upto) AS (
          SELECT c.segment, c.position
          UNION ALL
          SELECT g.parent, g.parent_position
          FROM line JOIN segment g ON g.num = line.segment WHERE g.parent IS NOT NULL)
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
            FROM line JOIN segment g ON g.num = line.segment WHERE g.parent IS NOT NULL)
          SELECT e.body FROM line JOIN entry e ON e.id = ((line.segment << 32) | c.args)
          WHERE line.upto >= c.args) AS args_body,
         (SELECT e.body FROM segment g JOIN entry e ON e.id = ((g.num << 32) | c.result)
          WHERE g.session = c.session) AS result_body
  FROM call c JOIN session s ON s.num = c.session)
SELECT session_id,
       CASE provider_id WHEN '' THEN CAST(position AS TEXT) ELSE provider_id END AS call_id,
       tool AS tool_name,
       coalesce((SELECT json_extract(b.value, '$.args')
                 FROM json_each(CASE WHEN json_valid(args_body) THEN args_body ELSE '{}' END,
                                '$.blocks') b
                 WHERE CASE b.type WHEN 'object'
                       THEN json_extract(b.value, '$.kind') = 'tool_call'
                        AND json_extract(b.value, '$.id') = provider_id END), args_body) AS args_json,
       lower(hex(key)) AS idempotency_key,
       CASE WHEN state IN ('intended', 'dispatched', 'in_doubt') THEN 'issued'
            WHEN state = 'succeeded' THEN 'completed'
            ELSE 'failed' END AS status,
       coalesce((SELECT json_extract(b.value, '$.content')
                 FROM json_each(CASE WHEN json_valid(result_body) THEN result_body ELSE '{}' END,
                                '$.blocks') b
                 WHERE CASE b.type WHEN 'object'
                       THEN json_extract(b.value, '$.kind') = 'tool_result'
                        AND json_extract(b.value, '$.call_id') = provider_id END), result_body) AS result_text,
       strftime('%Y-%m-%dT%H:%M:%fZ', coalesce(dispatched_at, intended_at) / 1000.0, 'unixepoch')
         AS started_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', settled_at / 1000.0, 'unixepoch') AS completed_at
FROM whole;
)sql";

std::int64_t pragma(Connection& connection, const char* statement) {
  Rows rows = connection.query(statement);
  return rows.next() ? rows.integer(0) : 0;
}

bool is_empty(Connection& connection) {
  return pragma(connection, "SELECT count(*) FROM sqlite_schema") == 0;
}

void make_format_1(Connection& connection, IdSource& ids) {
  connection.execute(tables);
  connection.execute(views);
  connection.execute(fmt::format("PRAGMA application_id = {}", application_id));
  connection.run("INSERT INTO meta VALUES ('incarnation', ?), ('syncs', 0), ('workers', 0)",
                 mint<StoreTag>(ids).text());
}

using Step = void (*)(Connection&, IdSource&);

// Step n leads from format n to n + 1. An empty file has format 0.
constexpr std::array<Step, format_number> steps = {make_format_1};

}  // namespace

void set_file_layout(Connection& connection) {
  if (!is_empty(connection)) return;
  connection.execute("PRAGMA page_size = 8192; PRAGMA auto_vacuum = INCREMENTAL;");
}

Result<void> check_format(Connection& connection) {
  if (is_empty(connection)) return {};
  if (pragma(connection, "PRAGMA application_id") != application_id) {
    return fail(ErrorCode::corrupted,
                "the file is an SQLite database of another program, not a Perdure store");
  }
  const std::int64_t found = pragma(connection, "PRAGMA user_version");
  if (found > format_number) {
    return fail(ErrorCode::unsupported,
                fmt::format("the store has format {}, this version of Perdure reads up to {}: "
                            "use a newer Perdure",
                            found, format_number));
  }
  if (found < 1) return fail(ErrorCode::corrupted, "the store has no format number");
  return {};
}

void migrate(Connection& connection, IdSource& ids) {
  const auto found = static_cast<std::size_t>(pragma(connection, "PRAGMA user_version"));
  for (std::size_t format = found; format < steps.size(); ++format) {
    steps[format](connection, ids);
    connection.execute(fmt::format("PRAGMA user_version = {}", format + 1));
  }
}

std::string read_incarnation(Connection& connection) {
  Rows rows = connection.query("SELECT value FROM meta WHERE key = 'incarnation'");
  return rows.next() ? rows.string(0) : std::string();
}

}  // namespace perdure::sqlite
