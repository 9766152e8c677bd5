-- The ledger's side of a commit: calls change state, keys are claimed. The arrows are those of
-- ledger.hpp.

CREATE FUNCTION perdure.call_name(p_session text, p_position bigint) RETURNS text
LANGUAGE sql IMMUTABLE AS $$ SELECT p_session || ':' || p_position $$;

-- The entry of the line to a place that a call refers to must be there, and stay.
CREATE FUNCTION perdure.require_on_line(p_segment bigint, p_head bigint, p_position bigint,
                                        p_what text) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  v_owner bigint;
  v_segment bigint;
BEGIN
  SELECT l.session, l.segment INTO v_owner, v_segment FROM perdure.line(p_segment, p_head) l
    WHERE p_position BETWEEN l.first AND l.last LIMIT 1;
  IF FOUND THEN
    PERFORM FROM perdure.segment g WHERE g.num = v_segment FOR KEY SHARE;
    PERFORM FROM perdure.entry e
      WHERE e.session = v_owner AND e.position = p_position AND e.segment = v_segment;
  END IF;
  IF NOT FOUND THEN
    RAISE EXCEPTION USING ERRCODE = 'PD005', MESSAGE = format(
      'the %s of a call cannot be at position %s: the line to %s has no such entry',
      p_what, p_position, p_head);
  END IF;
END $$;

-- Takes the key for the call, or PD003 with the name of the call that holds it. Two that come at
-- the same time wait for each other here.
CREATE FUNCTION perdure.claim_key(p_key bytea, p_num bigint, p_session text, p_position bigint)
RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  c perdure.claim;
  v_session text;
  v_state text;
BEGIN
  INSERT INTO perdure.claim (key, holder, position) VALUES (p_key, p_num, p_position)
    ON CONFLICT (key) DO NOTHING;
  IF FOUND THEN RETURN; END IF;
  SELECT * INTO c FROM perdure.claim WHERE key = p_key;
  IF c.holder = p_num AND c.position = p_position THEN RETURN; END IF;
  SELECT coalesce(c.session, s.id), coalesce(c.state, l.state) INTO v_session, v_state
    FROM (SELECT) one LEFT JOIN perdure.session s ON s.num = c.holder
      LEFT JOIN perdure.call l ON l.session = c.holder AND l.position = c.position;
  RAISE EXCEPTION USING ERRCODE = 'PD003', DETAIL = perdure.call_name(v_session, c.position),
    MESSAGE = format('the key of call %s is held by call %s, which is %s',
                     perdure.call_name(p_session, p_position),
                     perdure.call_name(v_session, c.position), v_state);
END $$;

-- Writes a call down, starts an attempt, or says what became of it (change_row in
-- operations/commit.cpp). `other`: the entry of the arguments, or of the result. Returns by how much
-- the number of calls in doubt changed.
CREATE FUNCTION perdure.apply_call(
  p_num bigint, p_session text, p_segment bigint, p_fence bigint, p_first bigint, p_head bigint,
  p_at bigint, p_change jsonb) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
  c perdure.call;
  v_call CONSTANT bigint := (p_change ->> 'call')::bigint;
  v_other CONSTANT bigint := (p_change ->> 'other')::bigint;
  v_to CONSTANT text := p_change ->> 'to';
  v_key bytea;
BEGIN
  IF v_to = 'intended' THEN
    IF v_call < p_first OR v_call > p_head THEN
      RAISE EXCEPTION USING ERRCODE = 'PD005', MESSAGE = format(
        'the intent of a call must be an entry of its batch; %s is not', v_call);
    END IF;
    IF v_other < p_first OR v_other > p_head THEN
      PERFORM perdure.require_on_line(p_segment, p_head, v_other, 'arguments');
    END IF;
    INSERT INTO perdure.call (session, position, args, tool, provider_id, effect, key, state,
        attempts, failures, fence, segment, intended_at, who, why)
      VALUES (p_num, v_call, v_other, p_change ->> 'tool', decode(p_change ->> 'provider_id', 'hex'),
        p_change ->> 'effect', decode(p_change ->> 'key', 'hex'), 'intended', 0, 0, 0, p_segment,
        p_at, '', '')
      ON CONFLICT (session, position) DO NOTHING;
    IF NOT FOUND THEN
      RAISE EXCEPTION USING ERRCODE = 'PD004', DETAIL = perdure.call_name(p_session, v_call),
        MESSAGE = format('call %s exists already', perdure.call_name(p_session, v_call));
    END IF;
    RETURN 0;
  END IF;

  SELECT * INTO c FROM perdure.call WHERE session = p_num AND position = v_call;
  IF NOT FOUND THEN
    RAISE EXCEPTION USING ERRCODE = 'PD003', DETAIL = perdure.call_name(p_session, v_call),
      MESSAGE = format('there is no call %s', perdure.call_name(p_session, v_call));
  END IF;
  IF NOT (CASE c.state
      WHEN 'intended' THEN v_to IN ('dispatched', 'denied', 'cancelled')
      WHEN 'dispatched' THEN v_to IN ('succeeded', 'failed', 'in_doubt')
      WHEN 'failed' THEN v_to = 'dispatched'
      WHEN 'in_doubt' THEN v_to IN ('succeeded', 'failed', 'abandoned', 'dispatched')
      ELSE false END) THEN
    RAISE EXCEPTION USING ERRCODE = 'PD003', DETAIL = perdure.call_name(p_session, v_call),
      MESSAGE = format('call %s is %s and cannot become %s',
                       perdure.call_name(p_session, v_call), c.state, v_to);
  END IF;
  IF v_to = 'dispatched' THEN
    v_key := coalesce(c.claimed, c.key);
    IF v_key IS NOT NULL THEN
      PERFORM perdure.claim_key(v_key, p_num, p_session, v_call);
    END IF;
    UPDATE perdure.call SET state = v_to, key = v_key, claimed = NULL, attempts = attempts + 1,
        fence = p_fence, dispatched_at = p_at, deadline = (p_change ->> 'deadline')::bigint,
        settled_at = NULL, result = NULL, who = '', why = ''
      WHERE session = p_num AND position = v_call;
  ELSE
    IF v_other IS NOT NULL AND (v_other < p_first OR v_other > p_head) THEN
      PERFORM perdure.require_on_line(p_segment, p_head, v_other, 'result');
    END IF;
    UPDATE perdure.call SET state = v_to, failures = failures + (v_to = 'failed')::int,
        settled_at = p_at, result = v_other, who = p_change ->> 'who', why = p_change ->> 'why'
      WHERE session = p_num AND position = v_call;
    -- Nothing happened: the key is free again.
    IF v_to = 'failed' AND c.key IS NOT NULL THEN
      DELETE FROM perdure.claim WHERE key = c.key AND holder = p_num AND position = v_call;
    END IF;
  END IF;
  RETURN (v_to = 'in_doubt')::int - (c.state = 'in_doubt')::int;
END $$;
