-- Making sessions, and what people call them.

CREATE FUNCTION perdure.update_annotation(p_num bigint, p_title text, p_opening text, p_tags text,
                                          p_metadata text) RETURNS void
LANGUAGE sql AS $$
  UPDATE perdure.session SET title = coalesce(p_title, title), opening = coalesce(p_opening, opening),
    tags = coalesce(p_tags, tags), metadata = coalesce(p_metadata, metadata) WHERE num = p_num
$$;

-- Makes a session. Repeated by the one who made it, it changes nothing.
CREATE FUNCTION perdure.make_session(
  p_now bigint, p_nonce text, p_id text, p_status text, p_wait_reason text, p_wake_at bigint,
  p_title text, p_opening text, p_tags text, p_metadata text,
  p_origin text, p_origin_kind bigint, p_origin_number bigint, p_lineage text) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  v_at bigint := coalesce(p_now, perdure.clock_ms());
  v_nonce text;
  v_num bigint;
  v_fork boolean := coalesce(p_lineage = 'fork', false);
  v_head bigint := 0;
  v_segment bigint;
  v_position bigint;
  total record;
BEGIN
  SELECT nonce INTO v_nonce FROM perdure.session WHERE id = p_id;
  IF NOT FOUND AND NOT EXISTS (SELECT FROM perdure.arriving WHERE id = p_id) THEN
    IF p_origin IS NOT NULL THEN
      PERFORM perdure.require_here(id, moved) FROM perdure.session WHERE id = p_origin FOR KEY SHARE;
      SELECT h.segment, h.position INTO v_segment, v_position
        FROM perdure.hold(perdure.require_session(p_origin), p_origin_kind, p_origin_number, 'PD001') h;
    END IF;
    IF v_fork THEN
      v_head := v_position;
      SELECT * INTO total FROM perdure.tally_at(v_segment, v_position);
    ELSE
      SELECT 0::bigint AS turns, 0::bigint AS steps, 0::bigint AS tokens_in,
             0::bigint AS tokens_out, 0::bigint AS cost_micros INTO total;
    END IF;
    INSERT INTO perdure.session (
        num, id, created_at, updated_at, status, wait_reason, wake_at, title, opening, tags,
        metadata, parent, parent_position, lineage, segment, head, next, version, commits, revision,
        chain, turns, steps, tokens_in, tokens_out, cost_micros, attention, fence, nonce)
      VALUES (
        nextval('perdure.session_num'), p_id, v_at, v_at, p_status, p_wait_reason, p_wake_at,
        coalesce(p_title, ''), coalesce(p_opening, ''), coalesce(p_tags, '[]'),
        coalesce(p_metadata, '{}'), p_origin,
        v_position, p_lineage, 0, v_head, v_head + 1, 0,
        0, 1,
        sha256(int8send(15) || convert_to('perdure session', 'UTF8') ||
               int8send(octet_length(p_id)) || convert_to(p_id, 'UTF8')),
        total.turns, total.steps, total.tokens_in, total.tokens_out, total.cost_micros, 0, 0, p_nonce)
      ON CONFLICT (id) DO NOTHING RETURNING num INTO v_num;
    IF FOUND THEN
      -- One under this id may have begun to arrive since we looked, but cannot from here on.
      IF EXISTS (SELECT FROM perdure.arriving WHERE id = p_id) THEN
        RAISE EXCEPTION USING ERRCODE = 'PD004', DETAIL = p_id,
          MESSAGE = format('session %s is on its way here', p_id);
      END IF;
      UPDATE perdure.session SET segment = perdure.open_segment(
          v_num, v_head + 1, CASE WHEN v_fork THEN v_segment END,
          CASE WHEN v_fork THEN v_position END)
        WHERE num = v_num;
      RETURN;
    END IF;
    SELECT nonce INTO v_nonce FROM perdure.session WHERE id = p_id;
  END IF;
  IF v_nonce IS DISTINCT FROM p_nonce THEN
    RAISE EXCEPTION USING ERRCODE = 'PD004', DETAIL = p_id,
      MESSAGE = format('session %s exists already', p_id);
  END IF;
END $$;

-- The same, of a row as commits carry it (session_row.cpp).
CREATE FUNCTION perdure.make_session_of(p_now bigint, p_row jsonb) RETURNS void
LANGUAGE sql AS $$
  SELECT perdure.make_session(
    p_now, p_row ->> 'nonce', p_row ->> 'id', p_row ->> 'status', p_row ->> 'wait_reason',
    (p_row ->> 'wake_at')::bigint, p_row ->> 'title', p_row ->> 'opening', p_row ->> 'tags',
    p_row ->> 'metadata', p_row ->> 'origin', (p_row ->> 'origin_kind')::bigint,
    (p_row ->> 'origin_number')::bigint, p_row ->> 'lineage')
$$;

-- Makes a session and grants it to the worker that commits its first batch in the same statement.
-- Returns its id. Only a session that was just made is at fence 0.
CREATE FUNCTION perdure.begin_session(p_now bigint, p_uptime bigint, p_id text, p_worker text,
                                      p_row text) RETURNS text
LANGUAGE plpgsql AS $$
BEGIN
  PERFORM perdure.make_session_of(p_now, p_row::jsonb);
  UPDATE perdure.session SET fence = 1, owned_since = coalesce(p_now, perdure.clock_ms()),
      owner = perdure.require_live_worker(p_worker, coalesce(p_uptime, perdure.clock_ms()))
    WHERE id = p_id AND fence = 0;
  RETURN p_id;
END $$;

CREATE FUNCTION perdure.create_session(
  p_now bigint, p_sync boolean, p_nonce text, p_id text, p_status text, p_wait_reason text,
  p_wake_at bigint, p_title text, p_opening text, p_tags text, p_metadata text,
  p_origin text, p_origin_kind bigint, p_origin_number bigint, p_lineage text) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  PERFORM perdure.begin_write(p_sync);
  PERFORM perdure.make_session(p_now, p_nonce, p_id, p_status, p_wait_reason, p_wake_at, p_title,
    p_opening, p_tags, p_metadata, p_origin, p_origin_kind, p_origin_number, p_lineage);
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
