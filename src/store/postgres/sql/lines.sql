-- From a point of a session to the segments that lead there.

-- The session's number, or PD001.
CREATE FUNCTION perdure.require_session(p_session text) RETURNS bigint
LANGUAGE plpgsql STABLE AS $$
DECLARE
  v_num bigint;
BEGIN
  SELECT num INTO v_num FROM perdure.session WHERE id = p_session;
  IF NOT FOUND THEN
    RAISE EXCEPTION USING ERRCODE = 'PD001', DETAIL = p_session,
      MESSAGE = format('there is no session %s', p_session);
  END IF;
  RETURN v_num;
END $$;

-- PD003 if the session was moved to another store.
CREATE FUNCTION perdure.require_here(p_session text, p_moved text) RETURNS void
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  IF p_moved IS NOT NULL THEN
    RAISE EXCEPTION USING ERRCODE = 'PD003',
      DETAIL = substr(p_moved, length(split_part(p_moved, ' ', 1)) +
                               length(split_part(p_moved, ' ', 2)) + 3),
      MESSAGE = format('session %s was moved to %s', p_session,
        substr(p_moved, length(split_part(p_moved, ' ', 1)) +
                        length(split_part(p_moved, ' ', 2)) + 3));
  END IF;
END $$;

-- Where the session's entry at the position is: the segment, and the session that owns it. Empty
-- if there is none, or none any more. Position 0, before all, is where the first entry is or will be.
CREATE FUNCTION perdure.find_entry(p_session bigint, p_position bigint,
                                   OUT segment bigint, OUT owner bigint)
LANGUAGE plpgsql STABLE AS $$
DECLARE
  v_sought bigint := greatest(p_position, 1);
  v_last bigint := 4294967295;
  g perdure.segment;
BEGIN
  SELECT * INTO g FROM perdure.segment s WHERE s.session = p_session AND s.first <= v_sought
    ORDER BY s.first DESC, s.num DESC LIMIT 1;
  IF NOT FOUND THEN
    SELECT * INTO g FROM perdure.segment s WHERE s.session = p_session
      ORDER BY s.first, s.num LIMIT 1;
  END IF;
  WHILE v_sought < g.first AND g.parent < g.num LOOP
    v_last := g.parent_position;
    SELECT * INTO g FROM perdure.segment s WHERE s.num = g.parent;
  END LOOP;
  IF p_position = 0 OR (p_position <= v_last AND EXISTS (
       SELECT FROM perdure.entry e
       WHERE e.session = g.session AND e.position = p_position AND e.segment = g.num)) THEN
    segment := g.num;
    owner := g.session;
  END IF;
END $$;

-- The end of the line to a point: 0 the head, 1 a version, 2 a position. Fails with `p_code`.
CREATE FUNCTION perdure.resolve(p_session bigint, p_kind bigint, p_number bigint, p_code text,
                                OUT segment bigint, OUT "position" bigint)
LANGUAGE plpgsql STABLE AS $$
BEGIN
  IF p_kind = 0 THEN
    SELECT s.segment, s.head INTO segment, "position" FROM perdure.session s WHERE s.num = p_session;
  ELSIF p_kind = 1 THEN
    SELECT c.segment, c.position INTO segment, "position" FROM perdure.checkpoint c
      WHERE c.session = p_session AND c.version = p_number;
    IF NOT FOUND THEN
      RAISE EXCEPTION USING ERRCODE = p_code,
        MESSAGE = format('the session has no version %s', p_number);
    END IF;
  ELSE
    SELECT f.segment INTO segment FROM perdure.find_entry(p_session, p_number) f;
    "position" := p_number;
    -- An entry was dropped that would have been seen from there.
    IF segment IS NULL OR (p_number > 0 AND p_number < (
         SELECT p.upto FROM perdure.pruned p WHERE p.segment = resolve.segment
           AND p.first <= p_number ORDER BY p.first DESC LIMIT 1)) THEN
      RAISE EXCEPTION USING ERRCODE = p_code,
        MESSAGE = format('the session has no entry at position %s, or it was pruned', p_number);
    END IF;
  END IF;
END $$;

-- As resolve, for who rests something on the place: until the end of the transaction nothing that
-- is seen from there is dropped.
CREATE FUNCTION perdure.hold(p_session bigint, p_kind bigint, p_number bigint, p_code text,
                             OUT segment bigint, OUT "position" bigint)
LANGUAGE plpgsql AS $$
DECLARE
  v_held bigint;
BEGIN
  LOOP
    SELECT r.segment INTO v_held FROM perdure.resolve(p_session, p_kind, p_number, p_code) r;
    PERFORM FROM perdure.segment g WHERE g.num = v_held FOR KEY SHARE;
    SELECT r.segment, r.position INTO segment, "position"
      FROM perdure.resolve(p_session, p_kind, p_number, p_code) r;
    -- The head may have gone on to another segment meanwhile.
    EXIT WHEN segment IS NOT DISTINCT FROM v_held;
  END LOOP;
END $$;

-- The parts of the line that ends at the place, newest first.
CREATE FUNCTION perdure.line(p_segment bigint, p_position bigint)
RETURNS TABLE (depth bigint, segment bigint, session bigint, first bigint, last bigint,
               parent bigint, parent_position bigint)
LANGUAGE sql STABLE AS $$
  WITH RECURSIVE part(depth, num, session, first, last, parent, parent_position) AS (
    SELECT 0::bigint, g.num, g.session, g.first, p_position, g.parent, g.parent_position
    FROM perdure.segment g WHERE g.num = p_segment
    UNION ALL
    SELECT p.depth + 1, g.num, g.session, g.first, least(p.last, p.parent_position), g.parent,
           g.parent_position
    -- Parents are older. Where damage says otherwise, a line would have no end.
    -- One by one: a join would be planned for ten of them, by reading all segments there are.
    FROM part p CROSS JOIN LATERAL (
      SELECT * FROM perdure.segment x WHERE x.num = p.parent AND p.parent < p.num LIMIT 1) g)
  SELECT * FROM part
$$;

-- The parts of the line to a point of a session, in the order asked for.
CREATE FUNCTION perdure.parts(p_session text, p_kind bigint, p_number bigint, p_newest boolean)
RETURNS TABLE (segment bigint, session bigint, first bigint, last bigint, parent bigint,
               parent_position bigint)
LANGUAGE plpgsql STABLE ROWS 4 AS $$
BEGIN
  RETURN QUERY
    SELECT l.segment, l.session, l.first, l.last, l.parent, l.parent_position
    FROM perdure.resolve(perdure.require_session(p_session), p_kind, p_number, 'PD001') r,
         perdure.line(r.segment, r.position) l
    ORDER BY CASE WHEN p_newest THEN l.depth ELSE -l.depth END;
END $$;

-- The versions below it are before the place, all others are not. Checkpoints have no index by
-- place and need none: as versions rise, so do segment and position.
CREATE FUNCTION perdure.first_not_before(p_session bigint, p_segment bigint, p_position bigint)
RETURNS bigint
LANGUAGE plpgsql STABLE AS $$
DECLARE
  v_low bigint := 1;
  v_high bigint;
  v_middle bigint;
  c record;
BEGIN
  SELECT coalesce(max(version), 0) + 1 INTO v_high FROM perdure.checkpoint WHERE session = p_session;
  WHILE v_low < v_high LOOP
    v_middle := v_low + (v_high - v_low) / 2;
    SELECT k.version, k.segment, k.position INTO c FROM perdure.checkpoint k
      WHERE k.session = p_session AND k.version >= v_middle AND k.version < v_high
      ORDER BY k.version LIMIT 1;
    IF FOUND AND (c.segment, c.position) < (p_segment, p_position) THEN
      v_low := c.version + 1;
    ELSE
      v_high := v_middle;
    END IF;
  END LOOP;
  RETURN v_high;
END $$;

-- The totals of the line: from the latest checkpoint on it, and the entries since, also those
-- that were pruned.
CREATE FUNCTION perdure.tally_at(p_segment bigint, p_position bigint, OUT turns bigint,
                                 OUT steps bigint, OUT tokens_in bigint, OUT tokens_out bigint,
                                 OUT cost_micros bigint)
LANGUAGE plpgsql STABLE AS $$
DECLARE
  l record;
  c perdure.checkpoint;
  t record;
  v_after bigint;
BEGIN
  turns := 0; steps := 0; tokens_in := 0; tokens_out := 0; cost_micros := 0;
  FOR l IN SELECT * FROM perdure.line(p_segment, p_position) ORDER BY depth LOOP
    SELECT * INTO c FROM perdure.checkpoint k
      WHERE k.session = l.session
        AND k.version < perdure.first_not_before(l.session, l.segment, l.last + 1)
      ORDER BY k.version DESC LIMIT 1;
    IF FOUND AND c.segment = l.segment THEN v_after := c.position; ELSE v_after := NULL; END IF;
    SELECT coalesce(sum(a.turns), 0) AS turns, coalesce(sum(a.steps), 0) AS steps,
           coalesce(sum(a.tokens_in), 0) AS tokens_in, coalesce(sum(a.tokens_out), 0) AS tokens_out,
           coalesce(sum(a.cost_micros), 0) AS cost_micros INTO t
    FROM (SELECT e.turns, e.steps, e.tokens_in, e.tokens_out, e.cost_micros FROM perdure.entry e
            WHERE e.session = l.session AND e.segment = l.segment
              AND e.position > coalesce(v_after, 0) AND e.position <= l.last
          UNION ALL
          SELECT p.turns, p.steps, p.tokens_in, p.tokens_out, p.cost_micros FROM perdure.pruned p
            WHERE p.segment = l.segment AND p.first > coalesce(v_after, 0) AND p.first <= l.last) a;
    turns := turns + t.turns; steps := steps + t.steps; tokens_in := tokens_in + t.tokens_in;
    tokens_out := tokens_out + t.tokens_out; cost_micros := cost_micros + t.cost_micros;
    IF v_after IS NOT NULL THEN
      turns := turns + c.turns; steps := steps + c.steps; tokens_in := tokens_in + c.tokens_in;
      tokens_out := tokens_out + c.tokens_out; cost_micros := cost_micros + c.cost_micros;
      RETURN;
    END IF;
  END LOOP;
END $$;

-- Opens a segment that continues from a place, or a root.
CREATE FUNCTION perdure.open_segment(p_session bigint, p_first bigint, p_parent bigint,
                                     p_parent_position bigint) RETURNS bigint
LANGUAGE sql AS $$
  INSERT INTO perdure.segment (num, session, first, parent, parent_position)
  VALUES (nextval('perdure.segment_num'), p_session, p_first, p_parent,
          coalesce(p_parent_position, 0))
  RETURNING num
$$;
