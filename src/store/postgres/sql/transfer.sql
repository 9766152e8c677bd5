-- Sessions that leave for another store, or come from one (transfer.hpp).
--
-- Facts come as one JSON array, bodies beside it, because JSON has no odd bytes. Numbers of
-- sessions and segments in them are the source's; `transit` and `arrived_segment` say which is which
-- here. Kinds are those of FactKind.

CREATE FUNCTION perdure.require_ticket(p_ticket bigint, p_open bigint) RETURNS void
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  IF p_ticket = 0 OR p_ticket IS DISTINCT FROM p_open THEN
    RAISE EXCEPTION USING ERRCODE = 'PD002', DETAIL = coalesce(p_open, 0),
      MESSAGE = format('this is not the present ticket of the move: %s, not %s',
                       coalesce(p_open, 0), p_ticket);
  END IF;
END $$;

-- The open ticket of a move, 0 if none is.
CREATE FUNCTION perdure.open_ticket(p_peer text, p_side bigint) RETURNS bigint
LANGUAGE sql STABLE AS $$
  SELECT coalesce((SELECT m.ticket FROM perdure.move m
                   WHERE m.peer = p_peer AND m.side = p_side AND m.since > 0), 0)
$$;

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

-- The sessions that are to go, locked: nobody can fork them, own them or write to them until they
-- are marked. A session that is made meanwhile stays, unless it is a relative; so all are asked for
-- until no more come.
CREATE FUNCTION perdure.choose(p_peer text, p_sessions text[]) RETURNS bigint[]
LANGUAGE plpgsql AS $$
DECLARE
  v_nums bigint[] := '{}';
  v_before bigint := -1;
  s record;
BEGIN
  IF cardinality(p_sessions) = 0 THEN
    WHILE v_before <> cardinality(v_nums) LOOP
      v_before := cardinality(v_nums);
      SELECT coalesce(array_agg(x.num), '{}') INTO v_nums
        FROM (SELECT y.num FROM perdure.session y WHERE y.moved IS NULL ORDER BY y.num FOR UPDATE) x;
    END LOOP;
    RETURN v_nums;
  END IF;
  PERFORM FROM perdure.session x WHERE x.id = ANY (p_sessions) ORDER BY x.num FOR UPDATE;
  FOR s IN SELECT n.id AS name, x.* FROM unnest(p_sessions) n(id)
             LEFT JOIN perdure.session x ON x.id = n.id LOOP
    IF s.num IS NULL THEN PERFORM perdure.require_session(s.name); END IF;
    CONTINUE WHEN s.moved IS NOT NULL AND split_part(s.moved, ' ', 2) = p_peer;
    PERFORM perdure.require_here(s.name, s.moved);
    v_nums := v_nums || s.num;
  END LOOP;
  RETURN v_nums;
END $$;

-- Marks sessions as moving, and writes down who goes: also removed ones whose segments they share.
CREATE FUNCTION perdure.send_off(p_uptime bigint, p_peer text, p_place text, p_sessions text[],
                                 p_gone text[]) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  v_nums bigint[] := perdure.choose(p_peer, p_sessions);
  s record;
BEGIN
  FOR s IN SELECT x.id, x.owner, x.owned_since, w.id AS worker FROM perdure.session x
             JOIN perdure.worker w ON w.num = x.owner WHERE x.num = ANY (v_nums) LOOP
    PERFORM perdure.require_free(
      s.owner, 'session ' || s.id, s.owned_since,
      coalesce(p_uptime, perdure.clock_ms()),
      CASE WHEN s.worker = ANY (p_gone) THEN s.worker END);
  END LOOP;
  PERFORM perdure.require_families(v_nums);
  UPDATE perdure.session x SET moved = 'moving ' || p_peer || ' ' || p_place, owner = NULL,
      owned_since = NULL, fence = x.fence + 1, revision = x.revision + 1
    WHERE x.num = ANY (v_nums);
  WITH RECURSIVE above(num) AS (
    SELECT g.parent FROM perdure.segment g
      WHERE g.session = ANY (v_nums) AND g.parent IS NOT NULL
    UNION SELECT g.parent FROM perdure.segment g JOIN above a ON g.num = a.num
      WHERE g.parent IS NOT NULL
  )
  INSERT INTO perdure.transit (owner, peer, side, origin)
    SELECT o.num, p_peer, 0, o.num FROM (
      SELECT unnest(v_nums) AS num
      UNION SELECT g.session FROM perdure.segment g JOIN above a ON a.num = g.num) o;
END $$;

CREATE FUNCTION perdure.depart(p_uptime bigint, p_peer text, p_place text, p_sessions text[],
                               p_gone text[], OUT ticket bigint, OUT since bigint, OUT done bigint)
LANGUAGE plpgsql AS $$
BEGIN
  PERFORM perdure.begin_write(true);
  INSERT INTO perdure.move (peer, side, ticket, since, done, cursor) VALUES (p_peer, 0, 0, 0, 0, '')
    ON CONFLICT DO NOTHING;
  SELECT m.ticket + 1, m.since, m.done INTO ticket, since, done FROM perdure.move m
    WHERE m.peer = p_peer AND m.side = 0 FOR UPDATE;
  IF since = 0 THEN
    PERFORM perdure.send_off(p_uptime, p_peer, p_place, p_sessions, p_gone);
    since := ticket;
  END IF;
  UPDATE perdure.move m SET ticket = depart.ticket, since = depart.since
    WHERE m.peer = p_peer AND m.side = 0;
END $$;

CREATE FUNCTION perdure.arrive(p_peer text, p_open bigint, p_since bigint, p_start text)
RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
  m perdure.move;
BEGIN
  PERFORM perdure.begin_write(true);
  INSERT INTO perdure.move (peer, side, ticket, since, done, cursor) VALUES (p_peer, 1, 0, 0, 0, '')
    ON CONFLICT DO NOTHING;
  SELECT * INTO m FROM perdure.move x WHERE x.peer = p_peer AND x.side = 1 FOR UPDATE;
  IF p_open <= m.ticket THEN
    PERFORM perdure.require_ticket(p_open, CASE WHEN m.since > 0 THEN m.ticket END);
  ELSIF m.since > 0 AND m.ticket < p_since THEN
    RAISE EXCEPTION USING ERRCODE = 'PD003', MESSAGE = format(
      'an earlier move from there, of ticket %s, is still open', m.ticket);
  END IF;
  IF m.since = 0 THEN m.cursor := p_start; END IF;
  UPDATE perdure.move x SET ticket = p_open, since = p_since, cursor = m.cursor
    WHERE x.peer = p_peer AND x.side = 1;
  RETURN m.cursor;
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

-- While the table is locked nobody makes a session under one of the ids; who does later finds it in
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
      FROM (SELECT y.owner FROM jsonb_to_recordset(p_facts) y(owner bigint) ORDER BY y.owner) x
      RETURNING owner
  )
  INSERT INTO perdure.garbage (session, id) SELECT n.owner, '' FROM numbered n;
  INSERT INTO perdure.arriving (
      num, id, created_at, updated_at, status, wait_reason, wake_at, title, opening, tags, metadata,
      parent, parent_position, lineage, segment, head, next, version, commits, revision, chain,
      turns, steps, tokens_in, tokens_out, cost_micros, attention, restored, fence, nonce)
    SELECT t.owner, x.id, x.created_at, x.updated_at, x.status, x.wait_reason, x.wake_at, x.title,
      x.opening, x.tags, x.metadata, x.parent, x.parent_position, x.lineage, x.segment, x.head,
      x.next, x.version, x.commits, x.revision, decode(x.chain, 'hex'), x.turns, x.steps,
      x.tokens_in, x.tokens_out, x.cost_micros, x.attention, x.restored, x.fence, ''
    FROM jsonb_to_recordset(p_facts) x(
        owner bigint, id text, created_at bigint, updated_at bigint, status text, wait_reason text,
        wake_at bigint, title text, opening text, tags text, metadata text, parent text,
        parent_position bigint, lineage text, segment bigint, head bigint, next bigint,
        version bigint, commits bigint, revision bigint, chain text, turns bigint, steps bigint,
        tokens_in bigint, tokens_out bigint, cost_micros bigint, attention bigint, restored boolean,
        fence bigint)
      JOIN perdure.transit t ON t.peer = p_peer AND t.side = 1 AND t.origin = x.owner
    WHERE x.id IS NOT NULL;
END $$;

CREATE FUNCTION perdure.take_segments(p_peer text, p_facts jsonb) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
  v_written bigint;
BEGIN
  INSERT INTO perdure.arrived_segment (peer, origin, num)
    SELECT p_peer, x.segment, nextval('perdure.segment_num')
    FROM (SELECT y.segment FROM jsonb_to_recordset(p_facts) y(segment bigint) ORDER BY y.segment) x;
  INSERT INTO perdure.segment (num, session, first, parent, parent_position)
    SELECT a.num, t.owner, x.first, b.num, x.parent_position
    FROM jsonb_to_recordset(p_facts) x(segment bigint, owner bigint, first bigint, parent bigint,
                                       parent_position bigint)
      JOIN perdure.arrived_segment a ON a.peer = p_peer AND a.origin = x.segment
      JOIN perdure.transit t ON t.peer = p_peer AND t.side = 1 AND t.origin = x.owner
      LEFT JOIN perdure.arrived_segment b ON b.peer = p_peer AND b.origin = x.parent
    WHERE x.parent IS NULL OR b.num IS NOT NULL;
  GET DIAGNOSTICS v_written = ROW_COUNT;
  RETURN v_written;
END $$;

CREATE FUNCTION perdure.take_pruned(p_peer text, p_facts jsonb) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
  v_written bigint;
BEGIN
  INSERT INTO perdure.pruned (segment, first, upto, entries, turns, steps, tokens_in, tokens_out,
                              cost_micros)
    SELECT a.num, x.first, x.upto, x.entries, x.turns, x.steps, x.tokens_in, x.tokens_out,
      x.cost_micros
    FROM jsonb_to_recordset(p_facts) x(
        segment bigint, first bigint, upto bigint, entries bigint, turns bigint, steps bigint,
        tokens_in bigint, tokens_out bigint, cost_micros bigint)
      JOIN perdure.arrived_segment a ON a.peer = p_peer AND a.origin = x.segment;
  GET DIAGNOSTICS v_written = ROW_COUNT;
  RETURN v_written;
END $$;

CREATE FUNCTION perdure.take_entries(p_peer text, p_facts jsonb, p_bodies text[], p_bytes bytea[])
RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
  v_written bigint;
BEGIN
  INSERT INTO perdure.entry (session, position, segment, channel, kind, fold, codec, at, turns,
                             steps, tokens_in, tokens_out, cost_micros, hash, body, bytes)
    SELECT g.session, x.position, g.num, x.channel, x.kind, x.fold, x.codec, x.at, x.turns,
      x.steps, x.tokens_in, x.tokens_out, x.cost_micros, decode(x.hash, 'hex'), b.body, b.bytes
    FROM jsonb_to_recordset(p_facts) x(
        n bigint, segment bigint, position bigint, channel text, kind text, fold smallint,
        codec smallint, at bigint, turns bigint, steps bigint, tokens_in bigint,
        tokens_out bigint, cost_micros bigint, hash text)
      JOIN unnest(p_bodies, p_bytes) WITH ORDINALITY b(body, bytes, n) ON b.n = x.n
      JOIN perdure.arrived_segment a ON a.peer = p_peer AND a.origin = x.segment
      JOIN perdure.segment g ON g.num = a.num;
  GET DIAGNOSTICS v_written = ROW_COUNT;
  RETURN v_written;
END $$;

CREATE FUNCTION perdure.take_receipts(p_peer text, p_facts jsonb) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
  v_written bigint;
BEGIN
  INSERT INTO perdure.receipt (session, batch, number, segment, first, count, head, version, at,
                               fence, chain)
    SELECT t.owner, x.batch, x.number, a.num, x.first, x.count, x.head, x.version, x.at, x.fence,
      decode(x.chain, 'hex')
    FROM jsonb_to_recordset(p_facts) x(
        owner bigint, batch text, number bigint, segment bigint, first bigint, count bigint,
        head bigint, version bigint, at bigint, fence bigint, chain text)
      JOIN perdure.transit t ON t.peer = p_peer AND t.side = 1 AND t.origin = x.owner
      JOIN perdure.arrived_segment a ON a.peer = p_peer AND a.origin = x.segment;
  GET DIAGNOSTICS v_written = ROW_COUNT;
  RETURN v_written;
END $$;

CREATE FUNCTION perdure.take_checkpoints(p_peer text, p_facts jsonb) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
  v_written bigint;
BEGIN
  INSERT INTO perdure.checkpoint (session, version, segment, position, at, reason, label, metadata,
                                  turns, steps, tokens_in, tokens_out, cost_micros)
    SELECT t.owner, x.version, a.num, x.position, x.at, x.reason, x.label, x.metadata, x.turns,
      x.steps, x.tokens_in, x.tokens_out, x.cost_micros
    FROM jsonb_to_recordset(p_facts) x(
        owner bigint, version bigint, segment bigint, position bigint, at bigint, reason text,
        label text, metadata text, turns bigint, steps bigint, tokens_in bigint,
        tokens_out bigint, cost_micros bigint)
      JOIN perdure.transit t ON t.peer = p_peer AND t.side = 1 AND t.origin = x.owner
      JOIN perdure.arrived_segment a ON a.peer = p_peer AND a.origin = x.segment;
  GET DIAGNOSTICS v_written = ROW_COUNT;
  RETURN v_written;
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
    FROM jsonb_to_recordset(p_facts) x(owner bigint, position bigint)
      JOIN perdure.transit t ON t.peer = p_peer AND t.side = 1 AND t.origin = x.owner
      JOIN perdure.call c ON c.session = t.owner AND c.position = x.position
      JOIN perdure.arriving r ON r.num = t.owner
    WHERE c.key IS NOT NULL AND c.state IN ('dispatched', 'in_doubt', 'succeeded', 'abandoned')
    ON CONFLICT (key) DO NOTHING;
  SELECT perdure.call_name(r.id, c.position), perdure.call_name(coalesce(k.session, s.id), k.position)
    INTO v_call, v_holder
    FROM jsonb_to_recordset(p_facts) x(owner bigint, position bigint)
      JOIN perdure.transit t ON t.peer = p_peer AND t.side = 1 AND t.origin = x.owner
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

CREATE FUNCTION perdure.take_calls(p_peer text, p_facts jsonb) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
  v_written bigint;
BEGIN
  INSERT INTO perdure.call (session, position, args, result, tool, provider_id, effect, key, state,
                            attempts, failures, fence, segment, intended_at, dispatched_at,
                            deadline, settled_at, who, why, claimed)
    SELECT t.owner, x.position, x.args, x.result, x.tool, decode(x.provider_id, 'hex'), x.effect,
      decode(x.key, 'hex'), x.state, x.attempts, x.failures, x.fence, a.num, x.intended_at,
      x.dispatched_at, x.deadline, x.settled_at, x.who, x.why,
      decode(x.claimed, 'hex')
    FROM jsonb_to_recordset(p_facts) x(
        owner bigint, position bigint, args bigint, result bigint, tool text, provider_id text,
        effect text, key text, state text, attempts bigint, failures bigint, fence bigint,
        segment bigint, intended_at bigint, dispatched_at bigint, deadline bigint,
        settled_at bigint, who text, why text, claimed text)
      JOIN perdure.transit t ON t.peer = p_peer AND t.side = 1 AND t.origin = x.owner
      JOIN perdure.arrived_segment a ON a.peer = p_peer AND a.origin = x.segment;
  GET DIAGNOSTICS v_written = ROW_COUNT;
  PERFORM perdure.claim_arriving(p_peer, p_facts);
  RETURN v_written;
END $$;

CREATE FUNCTION perdure.take_messages(p_peer text, p_facts jsonb, p_bodies text[], p_bytes bytea[])
RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
  v_written bigint;
BEGIN
  INSERT INTO perdure.message (num, session, id, kind, codec, at, consumed, body, bytes)
    SELECT nextval('perdure.message_num'), m.owner, m.id, m.kind, m.codec, m.at, m.consumed, m.body,
      m.bytes
    FROM (SELECT t.owner, x.id, x.kind, x.codec, x.at, x.consumed, b.body, b.bytes
          FROM jsonb_to_recordset(p_facts) x(n bigint, owner bigint, id text, kind text,
                                             codec smallint, at bigint, consumed boolean)
            JOIN unnest(p_bodies, p_bytes) WITH ORDINALITY b(body, bytes, n) ON b.n = x.n
            JOIN perdure.transit t ON t.peer = p_peer AND t.side = 1 AND t.origin = x.owner
          ORDER BY x.n) m;
  GET DIAGNOSTICS v_written = ROW_COUNT;
  RETURN v_written;
END $$;

-- Whoever holds the key here already: it is held.
CREATE FUNCTION perdure.take_claims(p_facts jsonb) RETURNS void
LANGUAGE sql AS $$
  INSERT INTO perdure.claim (key, holder, position, session, tool, effect, state, attempts,
                             failures, fence, intended_at, dispatched_at, settled_at, claimed)
    SELECT decode(x.key, 'hex'), 0, x.position, x.session, x.tool, x.effect, x.state, x.attempts,
      x.failures, x.fence, x.intended_at, x.dispatched_at, x.settled_at, decode(x.claimed, 'hex')
    FROM jsonb_to_recordset(p_facts) x(
        key text, position bigint, session text, tool text, effect text, state text,
        attempts bigint, failures bigint, fence bigint, intended_at bigint, dispatched_at bigint,
        settled_at bigint, claimed text)
    ORDER BY x.key
    ON CONFLICT (key) DO NOTHING
$$;

CREATE FUNCTION perdure.take_resources(p_facts jsonb) RETURNS void
LANGUAGE sql AS $$
  INSERT INTO perdure.resource AS r (name, worker, fence, since)
    SELECT x.name, NULL, x.fence + 4294967296, 0
    FROM jsonb_to_recordset(p_facts) x(name text, fence bigint) ORDER BY x.name
    ON CONFLICT (name) DO UPDATE SET fence = greatest(r.fence, excluded.fence)
$$;

-- Taking in the slice that was taken last does nothing.
CREATE FUNCTION perdure.take(
  p_peer text, p_ticket bigint, p_from text, p_next text, p_kind bigint, p_facts jsonb,
  p_bodies text[], p_bytes bytea[], p_blobs bytea[], p_blob_sizes bigint[]) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  m perdure.move;
BEGIN
  PERFORM perdure.begin_write(false);
  SELECT * INTO m FROM perdure.move x WHERE x.peer = p_peer AND x.side = 1 FOR UPDATE;
  PERFORM perdure.require_ticket(p_ticket, CASE WHEN m.since > 0 THEN m.ticket END);
  IF m.cursor <> p_from THEN
    IF m.cursor = p_next THEN RETURN; END IF;
    RAISE EXCEPTION USING ERRCODE = 'PD003',
      MESSAGE = 'these facts are not the next ones of the move';
  END IF;
  PERFORM perdure.require_blobs(p_blobs, p_blob_sizes);
  IF jsonb_array_length(p_facts) > 0 THEN
    CASE p_kind
      WHEN 0 THEN PERFORM perdure.take_sessions(p_peer, p_facts);
      WHEN 1 THEN PERFORM perdure.require_all(perdure.take_segments(p_peer, p_facts), p_facts);
      WHEN 2 THEN PERFORM perdure.require_all(perdure.take_pruned(p_peer, p_facts), p_facts);
      WHEN 3 THEN
        PERFORM perdure.require_all(perdure.take_entries(p_peer, p_facts, p_bodies, p_bytes), p_facts);
      WHEN 4 THEN PERFORM perdure.require_all(perdure.take_receipts(p_peer, p_facts), p_facts);
      WHEN 5 THEN PERFORM perdure.require_all(perdure.take_checkpoints(p_peer, p_facts), p_facts);
      WHEN 6 THEN PERFORM perdure.require_all(perdure.take_calls(p_peer, p_facts), p_facts);
      WHEN 9 THEN PERFORM perdure.take_claims(p_facts);
      WHEN 10 THEN PERFORM perdure.take_resources(p_facts);
      ELSE
        PERFORM perdure.require_all(perdure.take_messages(p_peer, p_facts, p_bodies, p_bytes), p_facts);
    END CASE;
  END IF;
  UPDATE perdure.move x SET cursor = p_next WHERE x.peer = p_peer AND x.side = 1;
END $$;

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
  INSERT INTO perdure.session (
      num, id, created_at, updated_at, status, wait_reason, wake_at, title, opening, tags, metadata,
      parent, parent_position, lineage, segment, head, next, version, commits, revision, chain,
      turns, steps, tokens_in, tokens_out, cost_micros, attention, restored, fence, nonce)
    SELECT r.num, r.id, r.created_at, r.updated_at, r.status, r.wait_reason, r.wake_at, r.title,
      r.opening, r.tags, r.metadata, r.parent, r.parent_position, r.lineage, a.num, r.head, r.next,
      r.version, r.commits, r.revision, r.chain, r.turns, r.steps, r.tokens_in, r.tokens_out,
      r.cost_micros, r.attention, r.restored, r.fence + 4294967296, r.nonce
    FROM perdure.transit t JOIN perdure.arriving r ON r.num = t.owner
      JOIN perdure.arrived_segment a ON a.peer = t.peer AND a.origin = r.segment
    WHERE t.peer = p_peer AND t.side = 1 ORDER BY r.num;
  DELETE FROM perdure.garbage g USING perdure.transit t
    WHERE t.peer = p_peer AND t.side = 1 AND g.session = t.owner;
END $$;

-- Ended twice the same way it does nothing.
CREATE FUNCTION perdure.end_move(p_peer text, p_side bigint, p_ticket bigint, p_moved boolean,
                                 p_end text) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  m perdure.move;
BEGIN
  PERFORM perdure.begin_write(true);
  SELECT * INTO m FROM perdure.move x WHERE x.peer = p_peer AND x.side = p_side FOR UPDATE;
  IF coalesce(m.since, 0) = 0 AND p_ticket <> 0 THEN
    IF (p_ticket <= coalesce(m.done, 0)) = p_moved THEN RETURN; END IF;
    RAISE EXCEPTION USING ERRCODE = 'PD003', MESSAGE =
      CASE WHEN p_moved THEN 'the move was abandoned' ELSE 'the move was finished' END;
  END IF;
  PERFORM perdure.require_ticket(p_ticket, m.ticket);
  IF p_side = 0 THEN
    UPDATE perdure.session s SET revision = s.revision + 1,
        moved = CASE WHEN p_moved THEN 'moved' || substr(s.moved, length('moving') + 1) END
      FROM perdure.transit t WHERE t.peer = p_peer AND t.side = 0 AND s.num = t.owner;
  ELSE
    IF NOT p_moved THEN
      DELETE FROM perdure.claim k USING perdure.transit t
        WHERE t.peer = p_peer AND t.side = 1 AND k.holder = t.owner;
    ELSIF m.cursor <> p_end THEN
      RAISE EXCEPTION USING ERRCODE = 'PD003', MESSAGE = 'not all facts were taken in';
    ELSE
      PERFORM perdure.land(p_peer);
    END IF;
    DELETE FROM perdure.arriving r USING perdure.transit t
      WHERE t.peer = p_peer AND t.side = 1 AND r.num = t.owner;
    DELETE FROM perdure.arrived_segment a WHERE a.peer = p_peer;
  END IF;
  DELETE FROM perdure.transit t WHERE t.peer = p_peer AND t.side = p_side;
  UPDATE perdure.move x SET since = 0, done = CASE WHEN p_moved THEN p_ticket ELSE x.done END
    WHERE x.peer = p_peer AND x.side = p_side;
END $$;
