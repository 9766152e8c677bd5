-- Removing sessions. A session is gone when its row is; everything else follows in slices. The row in
-- `garbage` goes last, so that whatever is cut off is found again.

-- PD006 while a live worker owns it, PD003 while a call is open.
-- What became of the calls of one that was moved there is the other store's to say. The keys that
-- its calls hold stay claimed, by tombstones without any payload, from the moment at which the
-- session is gone. Once more is not an error: the reply may have been lost. Numbers are never used
-- twice.
CREATE FUNCTION perdure.remove_session(p_uptime bigint, p_session bigint, p_gone text) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  s perdure.session;
  v_call text;
BEGIN
  PERFORM perdure.begin_write(true);
  SELECT * INTO s FROM perdure.session x WHERE x.num = p_session FOR UPDATE;
  IF NOT FOUND THEN RETURN; END IF;
  PERFORM perdure.require_free(
    s.owner, 'session ' || s.id, s.owned_since,
    coalesce(p_uptime, perdure.clock_ms()), p_gone);
  SELECT perdure.call_name(s.id, min(c.position)) INTO v_call FROM perdure.call c
    WHERE c.session = s.num AND c.state IN ('intended', 'dispatched', 'in_doubt')
      AND s.moved IS NULL;
  IF v_call IS NOT NULL THEN
    RAISE EXCEPTION USING ERRCODE = 'PD003', DETAIL = v_call, MESSAGE = format(
      'nobody knows yet what became of call %s: resolve it first', v_call);
  END IF;
  UPDATE perdure.claim k SET session = s.id, tool = c.tool, effect = c.effect, state = c.state,
      attempts = c.attempts, failures = c.failures, fence = c.fence, intended_at = c.intended_at,
      dispatched_at = c.dispatched_at, settled_at = c.settled_at
    FROM perdure.call c
    WHERE c.session = s.num AND c.key IS NOT NULL AND k.key = c.key AND k.holder = s.num AND k.position = c.position;
  INSERT INTO perdure.garbage (session, id) VALUES (s.num, s.id);
  DELETE FROM perdure.session x WHERE x.num = s.num;
END $$;

-- One slice of what is not history; whether there was anything. What has no id leaves no claims: it
-- never was a session here.
CREATE FUNCTION perdure.clear_rows(p_session bigint, p_rows bigint, p_bytes bigint) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
  v_gone bigint;
BEGIN
  WITH versions AS (
    DELETE FROM perdure.checkpoint k WHERE k.session = p_session AND k.version IN (
      SELECT x.version FROM perdure.checkpoint x WHERE x.session = p_session
      ORDER BY x.version LIMIT p_rows) RETURNING 1
  ), calls AS (
    DELETE FROM perdure.call c WHERE c.session = p_session AND c.position IN (
      SELECT x.position FROM perdure.call x WHERE x.session = p_session
      ORDER BY x.position LIMIT p_rows) RETURNING c.key, c.position
  ), claims AS (
    DELETE FROM perdure.claim k USING calls, perdure.garbage g
      WHERE g.session = p_session AND g.id = '' AND k.key = calls.key AND k.holder = p_session
        AND k.position = calls.position
  ), receipts AS (
    DELETE FROM perdure.receipt r WHERE r.session = p_session AND r.batch IN (
      SELECT x.batch FROM perdure.receipt x WHERE x.session = p_session
      ORDER BY x.batch LIMIT p_rows) RETURNING 1
  ), messages AS (
    DELETE FROM perdure.message m WHERE m.session = p_session AND m.id IN (
      SELECT l.id FROM (
        SELECT x.id, sum(x.size) OVER (ORDER BY x.id) - x.size AS before FROM (
          SELECT y.id, coalesce(octet_length(y.body), octet_length(y.bytes), 0) AS size
          FROM perdure.message y WHERE y.session = p_session ORDER BY y.id LIMIT p_rows) x) l
      WHERE l.before < p_bytes) RETURNING 1
  )
  SELECT (SELECT count(*) FROM versions) + (SELECT count(*) FROM calls)
       + (SELECT count(*) FROM receipts) + (SELECT count(*) FROM messages) INTO v_gone;
  RETURN v_gone > 0;
END $$;

-- Drops the first entries of a segment that nobody goes on from.
CREATE FUNCTION perdure.drop_slice(p_session bigint, p_segment bigint, p_rows bigint, p_bytes bigint,
                                   OUT o_entries bigint, OUT o_bytes bigint)
LANGUAGE sql AS $$
  WITH dropped AS (
    DELETE FROM perdure.entry e WHERE e.session = p_session AND e.position IN (
      SELECT l.position FROM (
        SELECT x.position, sum(x.size) OVER (ORDER BY x.position) - x.size AS before FROM (
          SELECT y.position, coalesce(octet_length(y.body), octet_length(y.bytes), 0) AS size
          FROM perdure.entry y
          WHERE y.session = p_session AND y.segment = p_segment
            AND y.position >= (SELECT g.first FROM perdure.segment g WHERE g.num = p_segment)
          ORDER BY y.position LIMIT p_rows) x) l
      WHERE l.before < p_bytes)
    RETURNING octet_length(e.body) AS text_size, octet_length(e.bytes) AS size
  )
  SELECT count(*), coalesce(sum(coalesce(d.text_size, d.size)), 0)::bigint FROM dropped d
$$;

-- Takes away a segment that has no entries any more. Returns the removed session that owns its
-- parent, if there is one: nobody else may need that parent, so it is to be cleared again.
CREATE FUNCTION perdure.drop_segment(p_session bigint, p_segment bigint) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
  v_parent bigint;
BEGIN
  SELECT p.session INTO v_parent
    FROM perdure.segment g JOIN perdure.segment p ON p.num = g.parent
    WHERE g.num = p_segment AND p.session <> p_session
      AND NOT EXISTS (SELECT FROM perdure.session s WHERE s.num = p.session);
  IF FOUND THEN
    -- Who clears it just now holds this row, and may have seen our segment: wait for the end.
    INSERT INTO perdure.garbage AS g (session, id) VALUES (v_parent, '')
      ON CONFLICT (session) DO UPDATE SET id = g.id;
  END IF;
  DELETE FROM perdure.pruned p WHERE p.segment = p_segment;
  DELETE FROM perdure.segment g WHERE g.num = p_segment;
  RETURN v_parent;
END $$;

-- The next slice of what is left of a removed session. Youngest segments first: branches are
-- younger than what they leave. What forks still need stays, trimmed to what they can see.
-- (o_segment, o_from) is where the next slice goes on; the first begins beyond all segments.
-- o_parent is another session to be cleared.
CREATE FUNCTION perdure.clear_slice(
  p_session bigint, p_segment bigint, p_from bigint, p_rows bigint, p_bytes bigint,
  OUT o_segment bigint, OUT o_from bigint, OUT o_entries bigint, OUT o_bytes bigint,
  OUT o_parent bigint, OUT o_more boolean)
LANGUAGE plpgsql AS $$
DECLARE
  v_num bigint;
  v_more boolean;
BEGIN
  PERFORM perdure.begin_write(true);
  o_segment := p_segment; o_from := p_from; o_entries := 0; o_bytes := 0; o_more := false;
  PERFORM FROM perdure.garbage g WHERE g.session = p_session FOR UPDATE;
  IF NOT FOUND THEN RETURN; END IF;
  -- On its way here, or from here: whoever moves it needs its rows.
  IF EXISTS (SELECT FROM perdure.transit t WHERE t.owner = p_session) THEN RETURN; END IF;
  o_more := true;
  -- What calls need is not swept: they go first.
  IF perdure.clear_rows(p_session, p_rows, p_bytes) THEN RETURN; END IF;
  SELECT g.num INTO v_num FROM perdure.segment g
    WHERE g.session = p_session AND g.num <= p_segment ORDER BY g.num DESC LIMIT 1 FOR UPDATE;
  IF FOUND THEN
    IF v_num < p_segment THEN o_from := 0; END IF;
    o_segment := v_num;
    IF EXISTS (SELECT FROM perdure.segment g WHERE g.parent = v_num) THEN
      SELECT w.o_next, w.o_entries, w.o_bytes, w.o_more INTO o_from, o_entries, o_bytes, v_more
        FROM perdure.sweep_slice(v_num, o_from, 4294967295, p_rows, p_bytes) w;
      IF v_more THEN RETURN; END IF;
    ELSE
      SELECT d.o_entries, d.o_bytes INTO o_entries, o_bytes
        FROM perdure.drop_slice(p_session, v_num, p_rows, p_bytes) d;
      IF o_entries >= p_rows OR o_bytes >= p_bytes THEN RETURN; END IF;
      o_parent := perdure.drop_segment(p_session, v_num);
    END IF;
    o_segment := v_num - 1;
    o_from := 0;
    IF EXISTS (SELECT FROM perdure.segment g
               WHERE g.session = p_session AND g.num <= o_segment) THEN
      RETURN;
    END IF;
  END IF;
  DELETE FROM perdure.garbage g WHERE g.session = p_session;
  o_more := false;
END $$;
