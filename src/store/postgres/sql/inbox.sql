-- What others leave for a session. A consumed message keeps its row, without its body, so that a
-- late second post of it is still recognised.

CREATE FUNCTION perdure.post(p_now bigint, p_sync boolean, p_session text, p_id text, p_kind text,
                             p_codec bigint, p_body text, p_bytes bytea, p_blob bytea,
                             p_blob_size bigint) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  v_at bigint := coalesce(p_now, perdure.clock_ms());
  v_num bigint;
  v_moved text;
BEGIN
  PERFORM perdure.begin_write(p_sync);
  -- The row's lock, so that a session that begins to wait just now is not left waiting.
  SELECT num, moved INTO v_num, v_moved FROM perdure.session WHERE id = p_session FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    RAISE EXCEPTION USING ERRCODE = 'PD001', DETAIL = p_session,
      MESSAGE = format('there is no session %s', p_session);
  END IF;
  PERFORM perdure.require_here(p_session, v_moved);
  INSERT INTO perdure.message (num, session, id, kind, codec, at, consumed, body, bytes)
    VALUES (nextval('perdure.message_num'), v_num, p_id, p_kind, p_codec, v_at, false, p_body,
            p_bytes)
    ON CONFLICT (session, id) DO NOTHING;
  IF NOT FOUND THEN RETURN; END IF;
  IF p_blob IS NOT NULL THEN
    PERFORM perdure.require_blobs(ARRAY[p_blob], ARRAY[p_blob_size]);
  END IF;
  UPDATE perdure.session SET revision = revision + 1 WHERE num = v_num;
  UPDATE perdure.session SET wake_at = v_at
    WHERE num = v_num AND status = 'waiting' AND (wake_at IS NULL OR wake_at > v_at);
END $$;
