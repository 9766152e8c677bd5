// Format 2: what upkeep has to remember.
//
// `pruned`: entries that were dropped because nothing that is kept can see them, one
// row for each run of positions from which they would have been seen, first <= p <
// upto: how many they were, and what they added to the totals.
// `claim`: the keys that calls of removed sessions still hold.
// `garbage`: sessions that are removed, and whose rows are not all gone yet; the id is
// for those of their calls that hold a key and are not yet claims.
// `staged`: when a blob was put again; its own row would have to be written as a whole.
// `call_result_before`: almost always empty. A result older than its call is the only one that a
// fork can share with others.
// `session.restored`: came out of a backup, and nobody has looked at it since.
// Numbers of sessions and segments are counted in `meta`: a number that was used
// once never means anything else.

#include "perdure/core/id_source.hpp"
#include "sqlite/connection.hpp"
#include "sqlite/formats.hpp"

namespace perdure::sqlite {
namespace {

constexpr const char* changes = R"sql(
ALTER TABLE session ADD COLUMN restored INTEGER NOT NULL DEFAULT 0;

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
  settled_at INTEGER
) WITHOUT ROWID;

CREATE TABLE garbage (session INTEGER PRIMARY KEY, id TEXT NOT NULL);

CREATE TABLE staged (blob INTEGER PRIMARY KEY, at INTEGER NOT NULL);

CREATE INDEX entry_blob ON entry(body) WHERE codec = 2;
CREATE INDEX message_blob ON message(body) WHERE codec = 2;
CREATE INDEX call_result ON call(session, result) WHERE key IS NOT NULL AND result IS NOT NULL;
CREATE INDEX call_result_before ON call(result) WHERE key IS NOT NULL AND result < position;
CREATE INDEX segment_parent ON segment(parent, parent_position) WHERE parent IS NOT NULL;

INSERT INTO meta SELECT 'sessions', coalesce(max(num), 0) FROM session;
INSERT INTO meta SELECT 'segments', coalesce(max(num), 0) FROM segment;
)sql";

}  // namespace

void make_format_2(Connection& connection, IdSource& /*ids*/) { connection.execute(changes); }

}  // namespace perdure::sqlite
