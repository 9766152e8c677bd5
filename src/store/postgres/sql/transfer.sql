-- Sessions that leave for another store, or come from one (transfer.hpp).
--
-- Facts come as one JSON array of rows by the names of their columns, bodies beside it, because JSON
-- has no odd bytes and no text of 256 MiB. Numbers of sessions and segments in them are the source's; `transit` and
-- `arrived_segment` say which is which here. Kinds are those of FactKind.

-- PD003 if one of these sessions is related to one that stays.
CREATE FUNCTION perdure.require_families(p_sessions bigint[]) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  v_left text;
BEGIN
  WITH RECURSIVE shared(a, b) AS MATERIALIZED (
    SELECT coalesce(x.id, chr(1) || g.session) COLLATE "C",
           coalesce(y.id, chr(1) || p.session) COLLATE "C"
    FROM perdure.segment g JOIN perdure.segment p ON p.num = g.parent
      LEFT JOIN perdure.session x ON x.num = g.session
      LEFT JOIN perdure.session y ON y.num = p.session
    WHERE p.session <> g.session
    UNION ALL SELECT s.id, s.parent FROM perdure.session s WHERE s.parent IS NOT NULL
  ), link(a, b) AS MATERIALIZED (
    SELECT h.a, h.b FROM shared h UNION SELECT h.b, h.a FROM shared h
  ), family(name) AS (
    SELECT s.id FROM perdure.session s WHERE s.num = ANY (p_sessions)
    UNION SELECT l.b FROM family f JOIN link l ON l.a = f.name
  )
  SELECT s.id INTO v_left FROM perdure.session s JOIN family f ON f.name = s.id
    WHERE s.moved IS NULL AND NOT s.num = ANY (p_sessions) ORDER BY s.id LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION USING ERRCODE = 'PD003', DETAIL = v_left, MESSAGE = format(
      'session %s is left out: forks, children and whoever shares a log go together', v_left);
  END IF;
END $$;

-- Marks sessions as moved, all or none. Locked first: no one can fork, own or write to them from then
-- on, and a lost answer is repeated only after the first execution has ended. What is looked at
-- after that is what there is then.
CREATE FUNCTION perdure.mark_moved(p_uptime bigint, p_peer text, p_place text, p_attempt bigint,
                                   p_sessions text[], p_revisions bigint[], p_gone text[])
RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  v_nums bigint[] := '{}';
  s record;
BEGIN
  PERFORM perdure.begin_write(true);
  INSERT INTO perdure.move (peer, side, ticket, since, done, cursor) VALUES (p_peer, 0, 0, 0, 0, '')
    ON CONFLICT DO NOTHING;
  PERFORM FROM perdure.move m WHERE m.peer = p_peer AND m.side = 0 FOR UPDATE;
  PERFORM FROM perdure.session x WHERE x.id = ANY (p_sessions) ORDER BY x.num FOR UPDATE;
  IF EXISTS (SELECT FROM perdure.move m
             WHERE m.side = 0 AND m.done = p_attempt) THEN
    RETURN;
  END IF;
  IF cardinality(p_sessions) = 0 THEN
    RAISE EXCEPTION USING ERRCODE = 'PD003',
      MESSAGE = 'that attempt did not mark its sessions as moved';
  END IF;
  FOR s IN SELECT n.id AS name, n.revision AS before, x.*, w.id AS worker
             FROM unnest(p_sessions, p_revisions) n(id, revision)
               LEFT JOIN perdure.session x ON x.id = n.id
               LEFT JOIN perdure.worker w ON w.num = x.owner LOOP
    IF s.num IS NULL THEN PERFORM perdure.require_session(s.name); END IF;
    PERFORM perdure.require_here(s.name, s.moved);
    PERFORM perdure.require_free(
      s.owner, 'session ' || s.name, s.owned_since, coalesce(p_uptime, perdure.clock_ms()),
      CASE WHEN s.worker = ANY (p_gone) THEN s.worker END);
    IF s.revision <> s.before THEN
      RAISE EXCEPTION USING ERRCODE = 'PD003', DETAIL = s.name,
        MESSAGE = format('session %s changed while it was being moved', s.name);
    END IF;
    v_nums := v_nums || s.num;
  END LOOP;
  PERFORM perdure.require_families(v_nums);
  UPDATE perdure.session x SET moved = 'moved ' || p_peer || ' ' || p_place, owner = NULL,
      owned_since = NULL, fence = x.fence + 1, revision = x.revision + 1
    WHERE x.num = ANY (v_nums);
  UPDATE perdure.move m SET ticket = p_attempt, done = p_attempt
    WHERE m.peer = p_peer AND m.side = 0;
END $$;

-- While the table is locked no session is made under one of the ids; later attempts find it in
-- `arriving`.
CREATE FUNCTION perdure.take_sessions(p_peer text, p_facts jsonb) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  v_id text;
BEGIN
  LOCK TABLE perdure.session IN SHARE MODE;
  SELECT x.id INTO v_id FROM jsonb_to_recordset(p_facts) x(id text) WHERE
    EXISTS (SELECT FROM perdure.session s WHERE s.id = x.id)
    OR EXISTS (SELECT FROM perdure.arriving a WHERE a.id = x.id) LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION USING ERRCODE = 'PD004', DETAIL = v_id,
      MESSAGE = format('session %s exists already', v_id);
  END IF;
  WITH numbered AS (
    INSERT INTO perdure.transit (owner, peer, side, origin)
      SELECT nextval('perdure.session_num'), p_peer, 1, x.owner
      FROM (SELECT y.num AS owner FROM jsonb_to_recordset(p_facts) y(num bigint) ORDER BY y.num) x
      RETURNING owner
  )
  INSERT INTO perdure.garbage (session, id) SELECT n.owner, '' FROM numbered n;
  INSERT INTO perdure.arriving
    SELECT r.* FROM jsonb_array_elements(p_facts) x(fact)
      JOIN perdure.transit t ON t.peer = p_peer AND t.side = 1
        AND t.origin = (x.fact->>'num')::bigint
      CROSS JOIN LATERAL jsonb_populate_record(
        NULL::perdure.arriving, x.fact || jsonb_build_object('num', t.owner, 'nonce', '')) r
    WHERE x.fact ? 'id';
END $$;

-- PD008 unless as many rows were written as there are facts.
CREATE FUNCTION perdure.require_all(p_written bigint, p_facts jsonb) RETURNS void
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  IF p_written <> jsonb_array_length(p_facts) THEN
    RAISE EXCEPTION USING ERRCODE = 'PD008',
      MESSAGE = 'a fact refers to a session or a segment that did not come before it';
  END IF;
END $$;

CREATE FUNCTION perdure.take_segments(p_peer text, p_facts jsonb) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  v_written bigint;
BEGIN
  INSERT INTO perdure.arrived_segment (peer, origin, num)
    SELECT p_peer, x.num, nextval('perdure.segment_num')
    FROM (SELECT y.num FROM jsonb_to_recordset(p_facts) y(num bigint) ORDER BY y.num) x;
  INSERT INTO perdure.segment (num, session, first, parent, parent_position)
    SELECT a.num, t.owner, x.first, b.num, x.parent_position
    FROM jsonb_populate_recordset(NULL::perdure.segment, p_facts) x
      JOIN perdure.arrived_segment a ON a.peer = p_peer AND a.origin = x.num
      JOIN perdure.transit t ON t.peer = p_peer AND t.side = 1 AND t.origin = x.session
      LEFT JOIN perdure.arrived_segment b ON b.peer = p_peer AND b.origin = x.parent
    WHERE x.parent IS NULL OR b.num IS NOT NULL;
  GET DIAGNOSTICS v_written = ROW_COUNT;
  PERFORM perdure.require_all(v_written, p_facts);
END $$;

-- Those whose session and segment are here, with our numbers, and their bodies. Messages get their
-- numbers in their order.
CREATE FUNCTION perdure.numbered(p_peer text, p_facts jsonb, p_bodies text[], p_bytes bytea[])
RETURNS TABLE (fact jsonb, body text, bytes bytea)
LANGUAGE sql AS $$
  SELECT x.fact || jsonb_strip_nulls(jsonb_build_object(
      'num', x.num, 'session', coalesce(t.owner, g.session), 'segment', g.num)), x.body, x.bytes
  FROM (SELECT f.fact, b.body, b.bytes, (f.fact->>'session')::bigint AS session,
          (f.fact->>'segment')::bigint AS segment,
          CASE WHEN f.fact ? 'consumed' THEN nextval('perdure.message_num') END AS num
        FROM jsonb_array_elements(p_facts) WITH ORDINALITY f(fact, n)
          JOIN unnest(p_bodies, p_bytes) WITH ORDINALITY b(body, bytes, n) ON b.n = f.n
        ORDER BY f.n) x
    LEFT JOIN perdure.transit t ON t.peer = p_peer AND t.side = 1 AND t.origin = x.session
    LEFT JOIN perdure.arrived_segment a ON a.peer = p_peer AND a.origin = x.segment
    LEFT JOIN perdure.segment g ON g.num = a.num
  WHERE (x.session IS NULL OR t.owner IS NOT NULL) AND (x.segment IS NULL OR g.num IS NOT NULL)
$$;

CREATE FUNCTION perdure.take_rows(p_table text, p_peer text, p_facts jsonb, p_bodies text[],
                                  p_bytes bytea[]) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  v_columns text := (
    SELECT string_agg(CASE WHEN a.attname IN ('body', 'bytes') THEN 'f.' ELSE 'r.' END || a.attname,
                      ', ' ORDER BY a.attnum)
      FROM pg_attribute a WHERE a.attrelid = ('perdure.' || p_table)::regclass AND a.attnum > 0);
  v_written bigint;
BEGIN
  EXECUTE format('INSERT INTO perdure.%1$I SELECT %2$s FROM perdure.numbered($1, $2, $3, $4) f '
                 'CROSS JOIN LATERAL jsonb_populate_record(NULL::perdure.%1$I, f.fact) r', p_table,
                 v_columns)
    USING p_peer, p_facts, p_bodies, p_bytes;
  GET DIAGNOSTICS v_written = ROW_COUNT;
  PERFORM perdure.require_all(v_written, p_facts);
END $$;

-- A key that an arriving call holds is claimed as a removed session's is, until it lands. What the
-- call itself left when its session was here before, and went, is its own.
CREATE FUNCTION perdure.claim_arriving(p_peer text, p_facts jsonb) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  v_call text;
  v_holder text;
BEGIN
  INSERT INTO perdure.claim (key, holder, position, session, tool, effect, state, attempts,
                             failures, fence, intended_at, dispatched_at, settled_at)
    SELECT c.key, c.session, c.position, r.id, c.tool, c.effect, c.state, c.attempts, c.failures,
      c.fence, c.intended_at, c.dispatched_at, c.settled_at
    FROM jsonb_to_recordset(p_facts) x(session bigint, position bigint)
      JOIN perdure.transit t ON t.peer = p_peer AND t.side = 1 AND t.origin = x.session
      JOIN perdure.call c ON c.session = t.owner AND c.position = x.position
      JOIN perdure.arriving r ON r.num = t.owner
    WHERE c.key IS NOT NULL AND c.state IN ('dispatched', 'in_doubt', 'succeeded', 'abandoned')
    ON CONFLICT (key) DO NOTHING;
  SELECT perdure.call_name(r.id, c.position), perdure.call_name(coalesce(k.session, s.id), k.position)
    INTO v_call, v_holder
    FROM jsonb_to_recordset(p_facts) x(session bigint, position bigint)
      JOIN perdure.transit t ON t.peer = p_peer AND t.side = 1 AND t.origin = x.session
      JOIN perdure.call c ON c.session = t.owner AND c.position = x.position
      JOIN perdure.arriving r ON r.num = t.owner
      JOIN perdure.claim k ON k.key = c.key
      LEFT JOIN perdure.session s ON s.num = k.holder
    WHERE c.state IN ('dispatched', 'in_doubt', 'succeeded', 'abandoned')
      AND (k.position <> c.position OR k.session IS DISTINCT FROM r.id) LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION USING ERRCODE = 'PD003', DETAIL = v_holder, MESSAGE = format(
      'the key of call %s is held by call %s here', v_call, v_holder);
  END IF;
END $$;

-- A key that is already held here stays as it is. A claim stays when its arrival is discarded:
-- another one may depend on it.
CREATE FUNCTION perdure.take_claims(p_facts jsonb) RETURNS void
LANGUAGE sql AS $$
  INSERT INTO perdure.claim
    SELECT r.* FROM jsonb_array_elements(p_facts) x(fact)
      CROSS JOIN LATERAL jsonb_populate_record(
        NULL::perdure.claim, x.fact || '{"holder": 0}') r
    ORDER BY r.key
    ON CONFLICT (key) DO NOTHING
$$;

CREATE FUNCTION perdure.take_resources(p_facts jsonb) RETURNS void
LANGUAGE sql AS $$
  INSERT INTO perdure.resource AS r (name, worker, fence, since)
    SELECT x.name, NULL, x.fence + 4294967296, 0
    FROM jsonb_to_recordset(p_facts) x(name text, fence bigint) ORDER BY x.name
    ON CONFLICT (name) DO UPDATE SET fence = greatest(r.fence, excluded.fence)
$$;

-- The arrival that is open from there, locked.
CREATE FUNCTION perdure.open_arrival(p_peer text) RETURNS perdure.move
LANGUAGE sql AS $$
  SELECT * FROM perdure.move x WHERE x.peer = p_peer AND x.side = 1 AND x.since > 0 FOR UPDATE
$$;

-- Makes sessions of what was taken in, behind fences that jump as in begin_anew.
CREATE FUNCTION perdure.land(p_peer text) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  UPDATE perdure.claim k SET holder = t.owner, session = NULL, tool = NULL, effect = NULL,
      state = NULL, attempts = NULL, failures = NULL, fence = NULL, intended_at = NULL,
      dispatched_at = NULL, settled_at = NULL
    FROM perdure.call c JOIN perdure.transit t ON t.owner = c.session
      JOIN perdure.arriving r ON r.num = t.owner
    WHERE t.peer = p_peer AND t.side = 1 AND c.key = k.key AND c.position = k.position
      AND k.session = r.id AND c.state IN ('dispatched', 'in_doubt', 'succeeded', 'abandoned');
  UPDATE perdure.arriving r SET segment = a.num, fence = r.fence + 4294967296
    FROM perdure.transit t JOIN perdure.arrived_segment a ON a.peer = t.peer
    WHERE t.peer = p_peer AND t.side = 1 AND r.num = t.owner AND a.origin = r.segment;
  INSERT INTO perdure.session
    SELECT r.* FROM perdure.arriving r JOIN perdure.transit t ON t.owner = r.num
    WHERE t.peer = p_peer AND t.side = 1 ORDER BY r.num;
  DELETE FROM perdure.garbage g USING perdure.transit t
    WHERE t.peer = p_peer AND t.side = 1 AND g.session = t.owner;
END $$;

CREATE FUNCTION perdure.close_arrival(p_peer text) RETURNS void
LANGUAGE sql AS $$
  DELETE FROM perdure.arriving r USING perdure.transit t
    WHERE t.peer = p_peer AND t.side = 1 AND r.num = t.owner;
  DELETE FROM perdure.arrived_segment a WHERE a.peer = p_peer;
  DELETE FROM perdure.transit t WHERE t.peer = p_peer AND t.side = 1;
  DELETE FROM perdure.move x WHERE x.peer = p_peer AND x.side = 1;
$$;

-- Taking in the slice that was taken last does nothing. The first slice begins an arrival, and the one
-- behind the last fact makes sessions of it.
CREATE FUNCTION perdure.take(
  p_peer text, p_attempt bigint, p_start text, p_from text, p_next text, p_is_end boolean,
  p_kind bigint, p_facts jsonb, p_bodies text[], p_bytes bytea[], p_blobs bytea[],
  p_blob_sizes bigint[]) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  m perdure.move;
BEGIN
  PERFORM perdure.begin_write(p_is_end);
  IF p_from = p_start THEN
    INSERT INTO perdure.move AS x (peer, side, ticket, since, done, cursor)
      VALUES (p_peer, 1, p_attempt, 1, 0, p_start)
      ON CONFLICT (peer, side) DO UPDATE SET ticket = p_attempt, since = 1, cursor = p_start
        WHERE x.since = 0;
  END IF;
  m := perdure.open_arrival(p_peer);
  IF m.ticket IS DISTINCT FROM p_attempt THEN
    IF p_from = p_start THEN
      RAISE EXCEPTION USING ERRCODE = 'PD003',
        MESSAGE = 'another arrival from there is under way';
    END IF;
    RAISE EXCEPTION USING ERRCODE = 'PD002',
      MESSAGE = 'there is no such arrival: it was discarded or released';
  END IF;
  IF m.cursor <> p_from THEN
    IF m.cursor = p_next THEN RETURN; END IF;
    RAISE EXCEPTION USING ERRCODE = 'PD003',
      MESSAGE = 'these facts are not the next ones of the arrival';
  END IF;
  IF p_is_end THEN
    PERFORM perdure.land(p_peer);
    PERFORM perdure.close_arrival(p_peer);
    RETURN;
  END IF;
  PERFORM perdure.require_blobs(p_blobs, p_blob_sizes);
  IF jsonb_array_length(p_facts) > 0 THEN
    CASE p_kind
      WHEN 0 THEN PERFORM perdure.take_sessions(p_peer, p_facts);
      WHEN 1 THEN PERFORM perdure.take_segments(p_peer, p_facts);
      WHEN 9 THEN PERFORM perdure.take_claims(p_facts);
      WHEN 10 THEN PERFORM perdure.take_resources(p_facts);
      ELSE
        PERFORM perdure.take_rows(
          (ARRAY['pruned', 'entry', 'receipt', 'checkpoint', 'call', 'message', 'message'])[p_kind - 1],
          p_peer, p_facts, p_bodies, p_bytes);
    END CASE;
  END IF;
  IF p_kind = 6 THEN PERFORM perdure.claim_arriving(p_peer, p_facts); END IF;
  UPDATE perdure.move x SET cursor = p_next WHERE x.peer = p_peer AND x.side = 1;
END $$;

CREATE FUNCTION perdure.discard_arrival(p_peer text, p_attempt bigint) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  m perdure.move;
BEGIN
  PERFORM perdure.begin_write(true);
  m := perdure.open_arrival(p_peer);
  IF m.ticket IS NULL OR p_attempt NOT IN (0, m.ticket) THEN RETURN; END IF;
  DELETE FROM perdure.claim k USING perdure.transit t
    WHERE t.peer = p_peer AND t.side = 1 AND k.holder = t.owner;
  PERFORM perdure.close_arrival(p_peer);
END $$;
