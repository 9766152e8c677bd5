-- The tables of a store, and the types by which a client hands over a commit. Until a release is
-- published they are changed in place; what a release wrote is never changed again, but by a step to
-- the next format (upkeep/schema.hpp).
--
-- Everything of one session lies together under its number. An entry is found by session and
-- position: a session's own segments cover disjoint, rising stretches of its positions, so a
-- part of a line is one range. `session` in these tables is the session that owns the segment.
--
-- entry.fold: 0 append, 1 replace. entry.codec: 0 json, 1 bytes, 2 blob (the text of the
-- reference). A body is in `body` if it is text, else in `bytes`. An entry that was erased has neither,
-- and -1 less its codec; with neither and its codec it is damaged.
-- Times are milliseconds since 1970, of this server's clock.
--
-- `claim` has a row for every key that a call holds; this makes taking a key atomic across
-- sessions. Its columns from `session` on are filled when the session is removed.
-- `claimed`: the key that a call of a bundle says it holds, until a person accepts that; `call.key` is null
-- then, and `claim.key` a key that nothing has.
-- `pruned` and `garbage` are as in the SQLite store: what was dropped, and what is still to go.
-- `session.moved`: 'moved …' once it was moved to another store; the tables after `garbage` are about
-- such moves. An arriving session has its row in `arriving`, where it is not seen, and one in
-- `garbage` without an id, so that what is left of an arrival that is discarded is cleared away.
-- `session.nonce`, `worker.nonce`: who made the row, so that a creation whose reply was lost can
-- be repeated.

CREATE TABLE perdure.meta (key text PRIMARY KEY, value text NOT NULL);
-- One row, for as long as nothing was lost: a server empties it when it has crashed (loss_token).
CREATE UNLOGGED TABLE perdure.life (
  alone boolean PRIMARY KEY DEFAULT true CHECK (alone),
  token text NOT NULL
);

CREATE SEQUENCE perdure.session_num;
CREATE SEQUENCE perdure.segment_num;
CREATE SEQUENCE perdure.worker_num;
CREATE SEQUENCE perdure.message_num;
-- Those who wait look at these, at little cost. `begun` rises within every write, and so before
-- others can see it; `told` rises for all writes of a while, after they were committed.
CREATE SEQUENCE perdure.begun;
CREATE SEQUENCE perdure.told;

CREATE TABLE perdure.session (
  num bigint PRIMARY KEY,
  id text COLLATE "C" NOT NULL UNIQUE,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  status text COLLATE "C" NOT NULL,
  wait_reason text NOT NULL,
  wake_at bigint,
  title text COLLATE "C" NOT NULL,
  opening text NOT NULL,
  tags text NOT NULL,
  metadata text NOT NULL,
  parent text COLLATE "C",
  parent_position bigint,
  lineage text COLLATE "C",
  segment bigint NOT NULL,
  head bigint NOT NULL,
  next bigint NOT NULL,
  version bigint NOT NULL,
  commits bigint NOT NULL,
  revision bigint NOT NULL,
  chain bytea NOT NULL,
  turns bigint NOT NULL,
  steps bigint NOT NULL,
  tokens_in bigint NOT NULL,
  tokens_out bigint NOT NULL,
  cost_micros bigint NOT NULL,
  attention bigint NOT NULL,
  restored boolean NOT NULL DEFAULT false,
  owner bigint,
  owned_since bigint,
  fence bigint NOT NULL,
  nonce text COLLATE "C" NOT NULL,
  moved text
) WITH (fillfactor = 50);  -- Room for the next version of a row on its own page.
CREATE INDEX session_runnable ON perdure.session (status, wake_at)
  WHERE status IN ('active', 'waiting');
CREATE INDEX session_owner ON perdure.session (owner) WHERE owner IS NOT NULL;

CREATE TABLE perdure.segment (
  num bigint PRIMARY KEY,
  session bigint NOT NULL,
  first bigint NOT NULL,
  parent bigint,
  parent_position bigint NOT NULL
);
CREATE INDEX segment_session ON perdure.segment (session, first);
CREATE INDEX segment_parent ON perdure.segment (parent, parent_position) WHERE parent IS NOT NULL;

CREATE TABLE perdure.entry (
  session bigint NOT NULL,
  position bigint NOT NULL,
  segment bigint NOT NULL,
  channel text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  fold smallint NOT NULL,
  codec smallint NOT NULL,
  at bigint NOT NULL,
  turns bigint,
  steps bigint,
  tokens_in bigint,
  tokens_out bigint,
  cost_micros bigint,
  hash bytea NOT NULL,
  body text COLLATE "C",
  bytes bytea,
  PRIMARY KEY (session, position)
) /*by session*/;
CREATE INDEX entry_value ON perdure.entry (session, channel, position) WHERE fold = 1;
CREATE INDEX entry_blob ON perdure.entry (body) WHERE codec = 2;

CREATE TABLE perdure.receipt (
  session bigint NOT NULL,
  batch text COLLATE "C" NOT NULL,
  number bigint NOT NULL,
  segment bigint NOT NULL,
  first bigint NOT NULL,
  count bigint NOT NULL,
  head bigint NOT NULL,
  version bigint,
  at bigint NOT NULL,
  fence bigint NOT NULL,
  chain bytea NOT NULL,
  PRIMARY KEY (session, batch)
) /*by session*/;

CREATE TABLE perdure.checkpoint (
  session bigint NOT NULL,
  version bigint NOT NULL,
  segment bigint NOT NULL,
  position bigint NOT NULL,
  at bigint NOT NULL,
  reason text NOT NULL,
  label text COLLATE "C" NOT NULL,
  metadata text NOT NULL,
  turns bigint NOT NULL,
  steps bigint NOT NULL,
  tokens_in bigint NOT NULL,
  tokens_out bigint NOT NULL,
  cost_micros bigint NOT NULL,
  PRIMARY KEY (session, version)
) /*by session*/;
CREATE INDEX checkpoint_label ON perdure.checkpoint (session, label, version) WHERE label <> '';

CREATE TABLE perdure.call (
  session bigint NOT NULL,
  position bigint NOT NULL,
  args bigint NOT NULL,
  result bigint,
  tool text NOT NULL,
  provider_id bytea NOT NULL,
  effect text NOT NULL,
  key bytea,
  state text COLLATE "C" NOT NULL,
  attempts bigint NOT NULL,
  failures bigint NOT NULL,
  fence bigint NOT NULL,
  segment bigint NOT NULL,
  intended_at bigint NOT NULL,
  dispatched_at bigint,
  deadline bigint,
  settled_at bigint,
  who text NOT NULL,
  why text NOT NULL,
  claimed bytea,
  PRIMARY KEY (session, position)
) /*by session*/;
CREATE INDEX call_claimed ON perdure.call (claimed) WHERE claimed IS NOT NULL;
CREATE INDEX call_key ON perdure.call (key) WHERE key IS NOT NULL;
CREATE INDEX call_open ON perdure.call (state, session, position)
  WHERE state IN ('intended', 'dispatched', 'in_doubt');
CREATE INDEX call_result ON perdure.call (session, result)
  WHERE key IS NOT NULL AND result IS NOT NULL;
CREATE INDEX call_result_before ON perdure.call (result)
  WHERE key IS NOT NULL AND result < position;

CREATE TABLE perdure.claim (
  key bytea PRIMARY KEY,
  holder bigint NOT NULL,
  position bigint NOT NULL,
  session text COLLATE "C",
  tool text,
  effect text,
  state text COLLATE "C",
  attempts bigint,
  failures bigint,
  fence bigint,
  intended_at bigint,
  dispatched_at bigint,
  settled_at bigint,
  claimed bytea
);

CREATE TABLE perdure.message (
  num bigint NOT NULL,
  session bigint NOT NULL,
  id text COLLATE "C" NOT NULL,
  kind text NOT NULL,
  codec smallint NOT NULL,
  at bigint NOT NULL,
  consumed boolean NOT NULL,
  body text COLLATE "C",
  bytes bytea,
  PRIMARY KEY (session, id)
) /*by session*/;
CREATE INDEX message_waiting ON perdure.message (session, num) WHERE NOT consumed;
CREATE INDEX message_blob ON perdure.message (body) WHERE codec = 2;

CREATE TABLE perdure.blob (
  hash bytea PRIMARY KEY,
  size bigint NOT NULL,
  staged_at bigint NOT NULL
);
-- Chunks of 1 MiB: a part of a blob is read without the rest.
CREATE TABLE perdure.chunk (
  hash bytea NOT NULL,
  number bigint NOT NULL,
  bytes bytea NOT NULL,
  PRIMARY KEY (hash, number)
);
ALTER TABLE perdure.chunk ALTER COLUMN bytes SET STORAGE EXTERNAL;

CREATE TABLE perdure.worker (
  num bigint PRIMARY KEY,
  id text COLLATE "C" NOT NULL UNIQUE,
  host text NOT NULL,
  pid bigint NOT NULL,
  process text NOT NULL,
  lease_time bigint NOT NULL,
  until bigint NOT NULL,
  ended boolean NOT NULL,
  nonce text COLLATE "C" NOT NULL
);

CREATE TABLE perdure.resource (
  name text COLLATE "C" PRIMARY KEY,
  worker bigint,
  fence bigint NOT NULL,
  since bigint NOT NULL
);
CREATE INDEX resource_worker ON perdure.resource (worker) WHERE worker IS NOT NULL;

CREATE TABLE perdure.pruned (
  segment bigint NOT NULL,
  first bigint NOT NULL,
  upto bigint NOT NULL,
  entries bigint NOT NULL,
  turns bigint NOT NULL,
  steps bigint NOT NULL,
  tokens_in bigint NOT NULL,
  tokens_out bigint NOT NULL,
  cost_micros bigint NOT NULL,
  PRIMARY KEY (segment, first)
);

CREATE TABLE perdure.garbage (session bigint PRIMARY KEY, id text NOT NULL);

-- By the incarnation of the other store. Side 0, done: the last attempt that marked sessions as moved
-- there. Side 1: the arrival that is open from there, ticket: its attempt; since: 1; cursor: how far
-- it has come.
CREATE TABLE perdure.move (
  peer text COLLATE "C" NOT NULL,
  side smallint NOT NULL,
  ticket bigint NOT NULL,
  since bigint NOT NULL,
  done bigint NOT NULL,
  cursor text NOT NULL,
  PRIMARY KEY (peer, side)
);

-- Numbers of sessions that arrive, also of removed ones whose segments come along; origin: the number
-- in the source.
CREATE TABLE perdure.transit (
  owner bigint PRIMARY KEY,
  peer text COLLATE "C" NOT NULL,
  side smallint NOT NULL,
  origin bigint NOT NULL
);
CREATE UNIQUE INDEX transit_move ON perdure.transit (peer, side, origin);

CREATE TABLE perdure.arriving (LIKE perdure.session INCLUDING DEFAULTS);
CREATE UNIQUE INDEX arriving_id ON perdure.arriving (id);
CREATE UNIQUE INDEX arriving_num ON perdure.arriving (num);

CREATE TABLE perdure.arrived_segment (
  peer text COLLATE "C" NOT NULL,
  origin bigint NOT NULL,
  num bigint NOT NULL,
  PRIMARY KEY (peer, origin)
);

-- An entry as a client sends it: `position` counts from 0 in its batch, `at` is null for the commit's time.
CREATE TYPE perdure.new_entry AS (
  position bigint, channel text, kind text, fold smallint, codec smallint, at bigint, turns bigint,
  steps bigint, tokens_in bigint, tokens_out bigint, cost_micros bigint, hash bytea, body text,
  bytes bytea);

-- A batch (operations/commit.cpp). `at`, `uptime`: null for the server's. `begins`: it intends or
-- dispatches a call, or creates a session. `turns` and the others are the totals of its entries. `seal`:
-- what the seal is the hash of, in hex, with a `t` where the commit's time belongs. `rest`: what few batches
-- have, as JSON. `first_row`: how to make the session if this batch is its first.
CREATE TYPE perdure.new_batch AS (
  session text, worker text, fence bigint, id text, head bigint, at bigint, uptime bigint,
  begins boolean, entries perdure.new_entry[], turns bigint, steps bigint, tokens_in bigint,
  tokens_out bigint, cost_micros bigint, seal text, reason text, label text, metadata text,
  status text, wait_reason text, wake_at bigint, rest text, first_row text);
