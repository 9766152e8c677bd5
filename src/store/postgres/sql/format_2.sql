-- What format 2 added, as it is in databases out there: never changed again.
--
-- The types by which a client hands over a commit (commit.sql).

-- An entry as a client sends it: `position` counts from 0 in its batch, `at` is null for the commit's time.
CREATE TYPE perdure.new_entry AS (
  position bigint, channel text, kind text, fold smallint, codec smallint, at bigint, turns bigint,
  steps bigint, tokens_in bigint, tokens_out bigint, cost_micros bigint, hash bytea, body text,
  bytes bytea);

-- What most batches have nothing of. `calls` by columns, as apply_call takes them.
CREATE TYPE perdure.rest AS (
  branch_kind bigint, branch_number bigint,
  blobs bytea[], blob_sizes bigint[],
  op smallint[], call bigint[], other bigint[], tool text[], provider_id bytea[], effect text[],
  key bytea[], state text[], deadline bigint[], who text[], why text[],
  title text, opening text, tags text, metadata text,
  consumed text[], children text);
