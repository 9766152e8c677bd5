-- Blobs come in chunks, in one transaction: the row first, then its chunks.

-- One that is there already is only kept from being collected for a while.
CREATE FUNCTION perdure.touch_blob(p_now bigint, p_sync boolean, p_hash bytea, p_size bigint)
RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
  PERFORM perdure.begin_write(p_sync);
  UPDATE perdure.blob SET staged_at =
      coalesce(p_now, perdure.clock_ms())
    WHERE hash = p_hash AND size = p_size;
  RETURN FOUND;
END $$;

CREATE FUNCTION perdure.put_blob(p_now bigint, p_sync boolean, p_hash bytea, p_size bigint) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  v_at bigint := coalesce(p_now, perdure.clock_ms());
BEGIN
  PERFORM perdure.begin_write(p_sync);
  INSERT INTO perdure.blob (hash, size, staged_at) VALUES (p_hash, p_size, v_at)
    ON CONFLICT (hash) DO UPDATE SET staged_at = excluded.staged_at;
END $$;

CREATE FUNCTION perdure.put_chunk(p_hash bytea, p_number bigint, p_bytes bytea) RETURNS void
LANGUAGE sql AS $$
  INSERT INTO perdure.chunk (hash, number, bytes) VALUES (p_hash, p_number, p_bytes)
  ON CONFLICT (hash, number) DO NOTHING
$$;

-- Collecting blobs that nothing names.

-- Looks at the next blobs after p_after, by hash, and removes those that were put before p_before
-- and that nothing names. First the lock, then the look: who names a blob locks its row, too.
-- One that is locked just now is being named or put again, and stays.
CREATE FUNCTION perdure.collect_slice(
  p_after bytea, p_before bigint, p_rows bigint, p_bytes bigint,
  OUT o_last bytea, OUT o_seen bigint, OUT o_items bigint, OUT o_bytes bigint)
LANGUAGE plpgsql AS $$
DECLARE
  v_old bytea[];
BEGIN
  PERFORM perdure.begin_write(true);
  SELECT (array_agg(l.hash ORDER BY l.hash DESC))[1], count(*),
         array_agg(l.hash) FILTER (WHERE l.staged_at < p_before)
    INTO o_last, o_seen, v_old FROM (
      SELECT x.hash, x.staged_at, sum(x.size) OVER (ORDER BY x.hash) - x.size AS before FROM (
        SELECT b.hash, b.staged_at, CASE WHEN b.staged_at < p_before THEN b.size ELSE 0 END AS size
        FROM perdure.blob b WHERE b.hash > p_after ORDER BY b.hash LIMIT p_rows) x) l
    WHERE l.before < p_bytes;
  SELECT array_agg(x.hash) INTO v_old FROM (
    SELECT b.hash FROM perdure.blob b
    WHERE b.hash > p_after AND b.hash <= o_last AND b.hash = ANY (v_old) AND b.staged_at < p_before
    FOR UPDATE SKIP LOCKED) x;
  WITH nameless AS MATERIALIZED (
    SELECT n.hash FROM (
      SELECT b.hash, perdure.blob_name(b.hash, b.size) AS name FROM perdure.blob b
      WHERE b.hash > p_after AND b.hash <= o_last AND b.hash = ANY (v_old)) n
    WHERE NOT EXISTS (SELECT FROM perdure.entry e WHERE e.codec = 2 AND e.body = n.name)
      AND NOT EXISTS (SELECT FROM perdure.message m WHERE m.codec = 2 AND m.body = n.name)
  ), chunks AS (
    DELETE FROM perdure.chunk c USING nameless WHERE c.hash = nameless.hash
  ), removed AS (
    DELETE FROM perdure.blob b USING nameless WHERE b.hash = nameless.hash RETURNING b.size
  )
  SELECT count(*), coalesce(sum(r.size), 0) INTO o_items, o_bytes FROM removed r;
END $$;

-- The text by which a body names a blob (body.cpp).
CREATE FUNCTION perdure.blob_name(p_hash bytea, p_size bigint) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
  SELECT '{"blob":"' || encode(p_hash, 'hex') || '","bytes":' || p_size::text || '}'
$$;
