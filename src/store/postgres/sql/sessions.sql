-- Making sessions, and what people call them.

CREATE FUNCTION perdure.update_annotation(p_num bigint, p_title text, p_opening text, p_tags text,
                                          p_metadata text) RETURNS void
LANGUAGE sql AS $$
  UPDATE perdure.session SET title = coalesce(p_title, title), opening = coalesce(p_opening, opening),
    tags = coalesce(p_tags, tags), metadata = coalesce(p_metadata, metadata) WHERE num = p_num
$$;

-- Makes a session of a row as session_row (values.cpp) writes it. Repeated by the one who made it, it
-- changes nothing.
CREATE FUNCTION perdure.make_session(p_now bigint, p_row jsonb) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  v_at bigint := coalesce(p_now, perdure.clock_ms());
  v_id text := p_row ->> 'id';
  v_origin text := p_row ->> 'origin';
  v_nonce text;
  v_num bigint;
  v_head bigint := 0;
  v_parent bigint;
  v_segment bigint;
  v_position bigint;
  total record;
BEGIN
  SELECT nonce INTO v_nonce FROM perdure.session WHERE id = v_id;
  IF NOT FOUND AND NOT EXISTS (SELECT FROM perdure.arriving WHERE id = v_id) THEN
    IF v_origin IS NOT NULL THEN
      PERFORM perdure.require_here(id, moved) FROM perdure.session WHERE id = v_origin FOR KEY SHARE;
      SELECT h.segment, h.position INTO v_segment, v_position
        FROM perdure.hold(perdure.require_session(v_origin), (p_row ->> 'origin_kind')::bigint,
                          (p_row ->> 'origin_number')::bigint, 'PD001') h;
    END IF;
    -- A fork continues from there; any other session begins with nothing.
    IF p_row ->> 'lineage' = 'fork' THEN
      v_head := v_position;
      v_parent := v_segment;
    END IF;
    SELECT * INTO total FROM perdure.tally_at(v_parent, v_head);
    INSERT INTO perdure.session (
        num, id, created_at, updated_at, status, wait_reason, wake_at, title, opening, tags,
        metadata, parent, parent_position, lineage, segment, head, next, version, commits, revision,
        chain, turns, steps, tokens_in, tokens_out, cost_micros, attention, fence, nonce)
      VALUES (
        nextval('perdure.session_num'), v_id, v_at, v_at, p_row ->> 'status', p_row ->> 'wait_reason',
        (p_row ->> 'wake_at')::bigint, coalesce(p_row ->> 'title', ''),
        coalesce(p_row ->> 'opening', ''), coalesce(p_row ->> 'tags', '[]'),
        coalesce(p_row ->> 'metadata', '{}'), v_origin, v_position, p_row ->> 'lineage', 0, v_head,
        v_head + 1, 0, 0, 1,
        sha256(int8send(15) || convert_to('perdure session', 'UTF8') ||
               int8send(octet_length(v_id)) || convert_to(v_id, 'UTF8')),
        total.turns, total.steps, total.tokens_in, total.tokens_out, total.cost_micros, 0, 0,
        p_row ->> 'nonce')
      ON CONFLICT (id) DO NOTHING RETURNING num INTO v_num;
    IF FOUND THEN
      -- One under this id may have begun to arrive since we looked, but cannot from here on.
      IF EXISTS (SELECT FROM perdure.arriving WHERE id = v_id) THEN
        RAISE EXCEPTION USING ERRCODE = 'PD004', DETAIL = v_id,
          MESSAGE = format('session %s is on its way here', v_id);
      END IF;
      UPDATE perdure.session SET segment = perdure.open_segment(v_num, v_head + 1, v_parent, v_head)
        WHERE num = v_num;
      RETURN;
    END IF;
    SELECT nonce INTO v_nonce FROM perdure.session WHERE id = v_id;
  END IF;
  IF v_nonce IS DISTINCT FROM (p_row ->> 'nonce') THEN
    RAISE EXCEPTION USING ERRCODE = 'PD004', DETAIL = v_id,
      MESSAGE = format('session %s exists already', v_id);
  END IF;
END $$;

-- Makes a session and grants it to the worker that commits its first batch in the same statement. Only
-- a session that was just made is at fence 0.
CREATE FUNCTION perdure.begin_session(p_now bigint, p_uptime bigint, p_worker text, p_row jsonb)
RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  PERFORM perdure.make_session(p_now, p_row);
  UPDATE perdure.session SET fence = 1, owned_since = coalesce(p_now, perdure.clock_ms()),
      owner = perdure.require_live_worker(p_worker, coalesce(p_uptime, perdure.clock_ms()))
    WHERE id = p_row ->> 'id' AND fence = 0;
END $$;

CREATE FUNCTION perdure.create_session(p_now bigint, p_sync boolean, p_row text) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  PERFORM perdure.begin_write(p_sync);
  PERFORM perdure.make_session(p_now, p_row::jsonb);
END $$;

CREATE FUNCTION perdure.annotate(p_now bigint, p_sync boolean, p_session text, p_title text, p_opening text,
                                 p_tags text, p_metadata text) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  v_num bigint := perdure.require_session(p_session);
BEGIN
  PERFORM perdure.begin_write(p_sync);
  PERFORM perdure.require_here(id, moved) FROM perdure.session WHERE num = v_num FOR NO KEY UPDATE;
  PERFORM perdure.update_annotation(v_num, p_title, p_opening, p_tags, p_metadata);
  UPDATE perdure.session SET revision = revision + 1,
      updated_at = coalesce(p_now, perdure.clock_ms())
    WHERE num = v_num;
END $$;
