-- Less history: pruning, erasing bodies, removing sessions. All of it goes in slices.

-- Pruning: names first, then the entries that nothing kept can see, in slices.
--
-- The rule is that of rules/retention.hpp. A slice locks its segment's row before it looks: who
-- opens a segment on it, or names one of its older entries, either is seen by the slice or looks
-- after it. So the lock is a statement of its own: one sees what was there when it began.

-- Writes down what was dropped. Shadows that overlap or touch become one, with those there were.
CREATE FUNCTION perdure.add_shadows(p_segment bigint, p_shadows perdure.pruned[]) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  v_first bigint;
  v_upto bigint;
  v_joined perdure.pruned[];
BEGIN
  SELECT min(s.first), max(s.upto) INTO v_first, v_upto FROM unnest(p_shadows) s;
  -- Rows do not touch: of those that begin before the first shadow, the last one may reach it.
  WITH there AS (
    DELETE FROM perdure.pruned p
      WHERE p.segment = p_segment AND p.first <= v_upto AND p.upto >= v_first
        AND p.first >= coalesce((SELECT max(q.first) FROM perdure.pruned q
                                 WHERE q.segment = p_segment AND q.first <= v_first), 0)
      RETURNING p.*
  ), shadow AS (
    SELECT * FROM unnest(p_shadows) UNION ALL SELECT * FROM there
  ), compared AS (
    SELECT *, first > max(upto) OVER (ORDER BY first, upto ROWS BETWEEN UNBOUNDED PRECEDING
                                                                AND 1 PRECEDING) AS is_apart
    FROM shadow
  ), numbered AS (
    SELECT *, count(*) FILTER (WHERE is_apart) OVER (ORDER BY first, upto ROWS UNBOUNDED PRECEDING)
              AS run
    FROM compared
  ), joined AS (
    SELECT min(first) AS first, max(upto) AS upto, sum(entries)::bigint AS entries,
           sum(turns)::bigint AS turns, sum(steps)::bigint AS steps,
           sum(tokens_in)::bigint AS tokens_in, sum(tokens_out)::bigint AS tokens_out,
           sum(cost_micros)::bigint AS cost_micros
    FROM numbered GROUP BY run
  )
  SELECT array_agg(ROW(p_segment, j.first, j.upto, j.entries, j.turns, j.steps, j.tokens_in,
                       j.tokens_out, j.cost_micros)::perdure.pruned)
    INTO v_joined FROM joined j;
  INSERT INTO perdure.pruned SELECT * FROM unnest(v_joined);
END $$;

-- The positions among these of the segment that calls need. It starts from the few calls that can
-- name an entry there, never from the forks that share it: those may be thousands.
CREATE FUNCTION perdure.needed_by_calls(p_segment bigint, p_session bigint, p_first bigint,
                                        p_last bigint) RETURNS SETOF bigint
LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN QUERY
    SELECT n.place FROM perdure.call c,
        LATERAL (VALUES (c.position), (c.args), (c.result)) AS n(place)
      WHERE c.session = p_session AND c.state IN ('intended', 'dispatched', 'in_doubt')
        AND n.place BETWEEN p_first AND p_last
    UNION ALL
    SELECT c.result FROM perdure.call c
      WHERE c.session = p_session AND c.result BETWEEN p_first AND p_last AND c.key IS NOT NULL
        AND c.result IS NOT NULL AND c.state IN ('succeeded', 'abandoned');
  -- Most sessions have no forks. One that comes now waits for the segment's lock before it names
  -- an entry here.
  IF NOT EXISTS (
       SELECT FROM perdure.segment own JOIN perdure.segment other ON other.parent = own.num
       WHERE own.session = p_session AND other.session <> p_session) THEN
    RETURN;
  END IF;
  -- The intent is an entry of the fork's own; a result that it shares was there before it.
  RETURN QUERY
    SELECT n.place FROM perdure.call c, LATERAL (VALUES (c.args), (c.result)) AS n(place)
      WHERE c.session <> p_session AND c.state IN ('intended', 'dispatched', 'in_doubt')
        AND n.place BETWEEN p_first AND p_last
        AND (perdure.find_entry(c.session, n.place)).segment = p_segment
    UNION ALL
    SELECT c.result FROM perdure.call c
      WHERE c.session <> p_session AND c.result BETWEEN p_first AND p_last
        AND c.result < c.position AND c.key IS NOT NULL AND c.state IN ('succeeded', 'abandoned')
        AND (perdure.find_entry(c.session, c.result)).segment = p_segment;
END $$;

-- Looks at the segment's next entries from p_from up to p_to, and drops those that nothing kept can
-- see and no call needs. The next slice begins at o_next.
CREATE FUNCTION perdure.sweep_slice(
  p_segment bigint, p_from bigint, p_to bigint, p_rows bigint, p_bytes bigint,
  OUT o_next bigint, OUT o_entries bigint, OUT o_bytes bigint, OUT o_more boolean)
LANGUAGE plpgsql AS $$
DECLARE
  c_never CONSTANT bigint := 4294967295;  -- As in rules/retention.hpp: nothing replaces it.
  v_session bigint;
  v_end bigint;  -- Behind it, the session's next segment begins.
  v_first bigint;
  v_last bigint;
  v_from_version bigint;
  v_upto_version bigint;
  v_dropped perdure.pruned[];
BEGIN
  PERFORM perdure.begin_write(true);
  o_next := p_from; o_entries := 0; o_bytes := 0; o_more := false;
  -- First the session's row, as commits do.
  SELECT g.session INTO v_session FROM perdure.segment g WHERE g.num = p_segment;
  PERFORM FROM perdure.segment g WHERE g.num = p_segment FOR UPDATE;
  IF NOT FOUND THEN RETURN; END IF;
  SELECT coalesce(min(g.first) - 1, c_never) INTO v_end FROM perdure.segment g
    WHERE g.session = v_session AND g.num > p_segment;
  -- Bodies are measured, not read.
  SELECT min(m.position), max(m.position) INTO v_first, v_last FROM (
    SELECT l.position, sum(l.size) OVER (ORDER BY l.position) - l.size AS before FROM (
      SELECT e.position, coalesce(octet_length(e.body), octet_length(e.bytes), 0) AS size
      FROM perdure.entry e
      WHERE e.session = v_session AND e.position BETWEEN p_from AND least(p_to, v_end)
        AND e.segment = p_segment
      ORDER BY e.position LIMIT p_rows) l) m
    WHERE m.before < p_bytes;
  IF v_first IS NULL THEN RETURN; END IF;
  v_from_version := perdure.first_not_before(v_session, p_segment, v_first);
  v_upto_version := perdure.first_not_before(v_session, p_segment, v_last + 1);

  WITH slice AS MATERIALIZED (
    SELECT e.position, e.channel FROM perdure.entry e
    WHERE e.session = v_session AND e.position BETWEEN v_first AND v_last AND e.segment = p_segment
  ), kept AS (
    SELECT k.position FROM perdure.checkpoint k
      WHERE k.session = v_session AND k.version >= v_from_version AND k.version < v_upto_version
        AND k.segment = p_segment
    UNION
    -- Also one that was made since we looked: it is behind all others.
    SELECT n.position FROM (
      SELECT k.segment, k.position FROM perdure.checkpoint k
      WHERE k.session = v_session AND k.version >= v_upto_version ORDER BY k.version LIMIT 1) n
      WHERE n.segment = p_segment
    UNION
    SELECT s.head FROM perdure.session s
      WHERE s.num = v_session AND s.segment = p_segment AND s.head >= v_first
  ), placed AS (
    SELECT b.position, b.channel, min(b.point) OVER (ORDER BY b.position DESC) AS point FROM (
      SELECT slice.position, slice.channel, NULL::bigint AS point FROM slice
      UNION ALL
      SELECT kept.position, NULL, kept.position FROM kept) b
  ), judged AS (
    SELECT p.position,
      least(p.point, (SELECT g.parent_position FROM perdure.segment g
                      WHERE g.parent = p_segment AND g.parent_position >= p.position
                      ORDER BY g.parent_position LIMIT 1)) AS next_kept,
      coalesce((SELECT r.position FROM perdure.entry r
                WHERE r.session = v_session AND r.channel = p.channel AND r.fold = 1
                  AND r.position > p.position AND r.position <= v_end
                ORDER BY r.position LIMIT 1), c_never) AS replaced_at
    FROM placed p WHERE p.channel IS NOT NULL
  ), dropped AS (
    DELETE FROM perdure.entry e USING judged j
      WHERE e.session = v_session AND e.position = j.position
        AND (j.next_kept IS NULL OR j.next_kept >= j.replaced_at)
        AND j.position NOT IN (
          SELECT perdure.needed_by_calls(p_segment, v_session, v_first, v_last))
      RETURNING e.*, j.replaced_at
  )
  SELECT array_agg(ROW(p_segment, d.position, d.replaced_at, 1, coalesce(d.turns, 0),
                       coalesce(d.steps, 0), coalesce(d.tokens_in, 0), coalesce(d.tokens_out, 0),
                       coalesce(d.cost_micros, 0))::perdure.pruned),
         count(*), coalesce(sum(coalesce(octet_length(d.body), octet_length(d.bytes))), 0)
    INTO v_dropped, o_entries, o_bytes FROM dropped d;
  IF o_entries > 0 THEN PERFORM perdure.add_shadows(p_segment, v_dropped); END IF;
  o_next := v_last + 1;
  o_more := o_next <= p_to;
END $$;

-- What does not change for the worse while others write: newer versions are kept whatever their
-- number, and newer segments have no past. A row for each segment.
CREATE FUNCTION perdure.prune_plan(p_session text, p_last bigint)
RETURNS TABLE (o_session bigint, o_newest_from bigint, o_upto bigint, o_versions bigint,
               o_segment bigint)
LANGUAGE plpgsql STABLE AS $$
DECLARE
  s perdure.session;
BEGIN
  SELECT * INTO s FROM perdure.session WHERE num = perdure.require_session(p_session);
  IF p_last = 0 THEN
    o_newest_from := s.version + 1;
  ELSE
    o_newest_from := coalesce((SELECT k.version FROM perdure.checkpoint k WHERE k.session = s.num
                               ORDER BY k.version DESC LIMIT 1 OFFSET p_last - 1), 0);
  END IF;
  SELECT count(*) INTO o_versions FROM perdure.checkpoint k
    WHERE k.session = s.num AND k.version < o_newest_from;
  RETURN QUERY SELECT s.num, o_newest_from, s.next - 1, o_versions, g.num
    FROM perdure.segment g WHERE g.session = s.num ORDER BY g.num;
END $$;

-- Of the next versions after p_after, removes those that no rule keeps (rules::keeps).
CREATE FUNCTION perdure.remove_versions(
  p_session bigint, p_after bigint, p_newest_from bigint, p_since bigint, p_every bigint,
  p_labelled boolean, p_rows bigint, OUT o_last bigint, OUT o_seen bigint, OUT o_removed bigint)
LANGUAGE plpgsql AS $$
BEGIN
  PERFORM perdure.begin_write(true);
  WITH slice AS MATERIALIZED (
    SELECT k.version, k.at, k.label FROM perdure.checkpoint k
    WHERE k.session = p_session AND k.version > p_after AND k.version < p_newest_from
    ORDER BY k.version LIMIT p_rows
  ), removed AS (
    DELETE FROM perdure.checkpoint k USING slice
      WHERE k.session = p_session AND k.version = slice.version
        AND (p_since IS NULL OR slice.at < p_since)
        AND (p_every = 0 OR slice.version % nullif(p_every, 0) <> 0)
        AND NOT (p_labelled AND slice.label <> '')
      RETURNING 1
  )
  SELECT coalesce(max(slice.version), p_after), count(*), (SELECT count(*) FROM removed)
    INTO o_last, o_seen, o_removed FROM slice;
END $$;

-- Where a version is, and from where on nothing before it sees: behind the point before it that is
-- kept whatever becomes of it.
CREATE FUNCTION perdure.version_place(p_session text, p_version bigint, OUT o_session bigint,
                                      OUT o_segment bigint, OUT o_from bigint, OUT o_to bigint)
LANGUAGE plpgsql STABLE AS $$
BEGIN
  o_session := perdure.require_session(p_session);
  SELECT r.segment, r.position INTO o_segment, o_to
    FROM perdure.resolve(o_session, 1::smallint, p_version, 'PD001') r;
  o_from := 1 + greatest(
    (SELECT b.position FROM (
       SELECT k.segment, k.position FROM perdure.checkpoint k
       WHERE k.session = o_session AND k.version < p_version
       ORDER BY k.version DESC LIMIT 1) b WHERE b.segment = o_segment),
    (SELECT g.parent_position FROM perdure.segment g
     WHERE g.parent = o_segment AND g.parent_position < o_to
     ORDER BY g.parent_position DESC LIMIT 1),
    0);
END $$;

-- Once more is not an error: the reply may have been lost.
CREATE FUNCTION perdure.remove_version(p_session bigint, p_version bigint) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  PERFORM perdure.begin_write(true);
  DELETE FROM perdure.checkpoint k WHERE k.session = p_session AND k.version = p_version;
END $$;

-- Emptying bodies. What is left of them in the server's files is a matter of VACUUM.

-- Which sessions own the entries that the session has at these positions. PD001 if there is none.
-- The session's own number comes first.
CREATE FUNCTION perdure.entry_owners(p_session text, p_positions bigint[])
RETURNS TABLE (o_session bigint, o_owner bigint, o_position bigint)
LANGUAGE plpgsql STABLE AS $$
BEGIN
  o_session := perdure.require_session(p_session);
  FOREACH o_position IN ARRAY p_positions LOOP
    SELECT f.owner INTO o_owner FROM perdure.find_entry(o_session, o_position) f;
    IF o_owner IS NULL OR o_position = 0 THEN
      RAISE EXCEPTION USING ERRCODE = 'PD001',
        MESSAGE = format('session %s has no entry at position %s', p_session, o_position);
    END IF;
    RETURN NEXT;
  END LOOP;
END $$;

-- Empties the first of these; o_done says how many.
CREATE FUNCTION perdure.erase_slice(p_session bigint, p_owners bigint[], p_positions bigint[],
                                    p_bytes bigint, p_was_here boolean, OUT o_done bigint,
                                    OUT o_items bigint, OUT o_bytes bigint)
LANGUAGE plpgsql AS $$
BEGIN
  PERFORM perdure.begin_write(true);
  -- So that a move that has read the bodies does not take them along.
  UPDATE perdure.session s SET revision = s.revision + 1
    WHERE s.num = p_session AND (s.moved IS NULL OR NOT p_was_here);
  IF NOT FOUND AND p_was_here THEN
    RAISE EXCEPTION USING ERRCODE = 'PD003',
      MESSAGE = 'the session was moved or removed meanwhile: erase where it is';
  END IF;
  WITH named AS (
    SELECT n.owner, n.place, n.number,
           CASE WHEN e.codec >= 0 THEN coalesce(octet_length(e.body), octet_length(e.bytes), 0) END
             AS size
    FROM unnest(p_owners, p_positions) WITH ORDINALITY AS n(owner, place, number)
      LEFT JOIN perdure.entry e ON e.session = n.owner AND e.position = n.place
  ), slice AS MATERIALIZED (
    SELECT s.owner, s.place, s.number, s.size FROM (
      SELECT *, sum(coalesce(named.size, 0)) OVER (ORDER BY named.number)
                - coalesce(named.size, 0) AS before FROM named) s
    WHERE s.before < p_bytes
  ), emptied AS (
    UPDATE perdure.entry e SET body = NULL, bytes = NULL, codec = -1 - e.codec FROM slice
      WHERE e.session = slice.owner AND e.position = slice.place AND slice.size IS NOT NULL
      RETURNING slice.size
  )
  SELECT (SELECT max(slice.number) FROM slice), count(*), coalesce(sum(emptied.size), 0)
    INTO o_done, o_items, o_bytes FROM emptied;
END $$;

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
      'the outcome of call %s is unknown: resolve it first', v_call);
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

-- Drops the first entries of a segment that no other continues from.
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
-- parent, if there is one: no other may need that parent, so it is to be cleared again.
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
-- (o_segment, o_from) is where the next slice continues; the first begins beyond all segments.
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
  -- On its way here, or from here: the move needs its rows.
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
