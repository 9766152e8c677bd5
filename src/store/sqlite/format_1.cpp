// Format 1, as it is in files out there: never changed again.
//
// Everything of one session lies together: its entries under (segment, position)
// packed into the rowid, so that they need no index and a read is one range scan;
// receipts, checkpoints and calls under the session's number. Rows that grow with
// the history hold nothing but what they add.
//
// entry.fold: 0 append, 1 replace. entry.codec: 0 json (body is TEXT), 1 bytes,
// 2 blob (TEXT of the reference). A body of NULL was erased. Times are milliseconds
// since 1970; worker.until is milliseconds since the machine `boot` started.

#include "perdure/core/id.hpp"
#include "perdure/core/id_source.hpp"
#include "rules/incarnation.hpp"
#include "sqlite/connection.hpp"
#include "sqlite/formats.hpp"

namespace perdure::sqlite {
namespace {

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

}  // namespace

void make_format_1(Connection& connection, IdSource& ids) {
  connection.execute(tables);
  connection.run("INSERT INTO meta VALUES ('incarnation', ?), ('syncs', 0), ('workers', 0)",
                 mint<rules::StoreTag>(ids).text());
}

}  // namespace perdure::sqlite
