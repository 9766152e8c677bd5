// Format 3: what moves between stores have to remember (transfer.hpp).
//
// `session.moved`: where it goes or went (rules/moves.hpp); NULL if it is here.
// `move`: how moves to (side 0) or from (side 1) another store stand, one row for each such
// store, which goes by its incarnation. `since` is the first ticket of the move that is
// open, or 0; `done` the last one of the move that was finished last; `cursor` how far what
// arrives has come.
// `transit`: who is on its way, also removed sessions whose segments go along. `origin` is
// its number in the source.
// `arriving`: the rows of sessions that are not here yet, as they will stand in `session`; their
// other rows are in place. Each owner that arrives has a row in `garbage`, without an id, until
// it lands: whatever becomes of the move, nothing is left behind. `origin_segment` is the
// active one, as the source numbers it.
// `arrived_segment`: which segment of the source became which one here, while the move is open.
//
// No row of these tables may look like one of another: salvage knows rows by their shape.

#include "perdure/core/id_source.hpp"
#include "sqlite/connection.hpp"
#include "sqlite/formats.hpp"

namespace perdure::sqlite {
namespace {

constexpr const char* additions = R"sql(
ALTER TABLE session ADD COLUMN moved TEXT;

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
  origin_segment INTEGER NOT NULL,
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

}  // namespace

void make_format_3(Connection& connection, IdSource& /*ids*/) { connection.execute(additions); }

}  // namespace perdure::sqlite
