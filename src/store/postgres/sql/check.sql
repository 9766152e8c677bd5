-- What a check asks of a session that takes more than one look at a table.

-- Whether the segment has the entry, or had it before it was pruned.
CREATE FUNCTION perdure.is_accounted_for(p_segment bigint, p_owner bigint, p_position bigint)
RETURNS boolean
LANGUAGE sql STABLE AS $$
  SELECT EXISTS (SELECT FROM perdure.entry e WHERE e.session = p_owner AND e.position = p_position
                   AND e.segment = p_segment)
      OR p_position < (SELECT p.upto FROM perdure.pruned p WHERE p.segment = p_segment
                         AND p.first <= p_position ORDER BY p.first DESC LIMIT 1)
$$;

-- The session's next calls from a position on: as rules::read_call reads them, then the segment, and
-- whether intent, arguments and result are accounted for. Arguments may come after the intent,
-- within its commit: how far that reaches, the caller knows.
CREATE FUNCTION perdure.calls_from(p_session bigint, p_from bigint, p_rows bigint)
RETURNS TABLE (o_id text, o_position bigint, o_args bigint, o_result bigint, o_tool text,
               o_provider_id bytea, o_effect text, o_key bytea, o_state text, o_attempts bigint,
               o_failures bigint, o_fence bigint, o_intended_at bigint, o_dispatched_at bigint,
               o_deadline bigint, o_settled_at bigint, o_who text, o_why text, o_claimed bytea, o_segment bigint,
               o_has_intent boolean, o_has_args boolean, o_has_result boolean)
LANGUAGE sql STABLE AS $$
  SELECT s.id, c.position, c.args, c.result, c.tool, c.provider_id, c.effect, c.key, c.state,
    c.attempts, c.failures, c.fence, c.intended_at, c.dispatched_at, c.deadline, c.settled_at,
    c.who, c.why, c.claimed, c.segment,
    perdure.is_accounted_for(c.segment, c.session, c.position),
    CASE WHEN c.args >= g.first THEN perdure.is_accounted_for(c.segment, c.session, c.args)
      ELSE EXISTS (SELECT FROM perdure.line(g.parent, g.parent_position) l
                   WHERE c.args BETWEEN l.first AND l.last
                     AND perdure.is_accounted_for(l.segment, l.session, c.args)) END,
    -- An entry of the session's own, on whichever line was active then; or one that it shares.
    CASE WHEN c.result IS NULL THEN true
      WHEN r.num IS NULL THEN c.result < c.position
      ELSE perdure.is_accounted_for(r.num, c.session, c.result) END
  FROM perdure.call c JOIN perdure.session s ON s.num = c.session
    LEFT JOIN perdure.segment g ON g.num = c.segment
    LEFT JOIN LATERAL (
      SELECT x.num FROM perdure.segment x WHERE x.session = c.session AND x.first <= c.result
      ORDER BY x.first DESC, x.num DESC LIMIT 1) r ON true
  WHERE c.session = p_session AND c.position >= p_from ORDER BY c.position LIMIT p_rows
$$;

-- The totals of a line, from its entries and what was pruned of it. Not whole if one of its entries
-- is lost, or says what no entry can.
CREATE FUNCTION perdure.count_tally(p_segment bigint, p_position bigint)
RETURNS TABLE (is_whole boolean, turns bigint, steps bigint, tokens_in bigint, tokens_out bigint,
               cost_micros bigint)
LANGUAGE sql STABLE AS $$
  SELECT coalesce(bool_and(e.is_sound AND e.rows + p.rows = l.last - l.first + 1), true),
    coalesce(sum(e.turns + p.turns), 0)::bigint, coalesce(sum(e.steps + p.steps), 0)::bigint,
    coalesce(sum(e.tokens_in + p.tokens_in), 0)::bigint,
    coalesce(sum(e.tokens_out + p.tokens_out), 0)::bigint,
    coalesce(sum(e.cost_micros + p.cost_micros), 0)::bigint
  FROM perdure.line(p_segment, p_position) l
  CROSS JOIN LATERAL (
    SELECT count(*) AS rows, coalesce(sum(x.turns), 0) AS turns, coalesce(sum(x.steps), 0) AS steps,
      coalesce(sum(x.tokens_in), 0) AS tokens_in, coalesce(sum(x.tokens_out), 0) AS tokens_out,
      coalesce(sum(x.cost_micros), 0) AS cost_micros,
      coalesce(bool_and(x.hash <> decode(repeat('00', 32), 'hex')
        AND greatest(abs(x.turns), abs(x.steps), abs(x.tokens_in), abs(x.tokens_out),
                     abs(x.cost_micros), 0) <= 1000000000000), true) AS is_sound
    FROM perdure.entry x
    WHERE x.session = l.session AND x.segment = l.segment AND x.position BETWEEN l.first AND l.last) e
  CROSS JOIN LATERAL (
    SELECT coalesce(sum(x.entries), 0) AS rows, coalesce(sum(x.turns), 0) AS turns,
      coalesce(sum(x.steps), 0) AS steps, coalesce(sum(x.tokens_in), 0) AS tokens_in,
      coalesce(sum(x.tokens_out), 0) AS tokens_out, coalesce(sum(x.cost_micros), 0) AS cost_micros
    FROM perdure.pruned x WHERE x.segment = l.segment AND x.upto <= l.last) p
  WHERE l.last >= l.first
$$;
