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
