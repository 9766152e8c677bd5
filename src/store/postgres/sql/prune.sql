-- Pruning: names first, then the entries that nothing kept can see, in slices.
--
-- The rule is that of rules/retention.hpp. A slice locks its segment's row before it looks: whoever
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
