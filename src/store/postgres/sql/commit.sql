-- The main path of the store, in one round trip. The order of the checks is the contract's:
-- receipt, lease, head, then everything else; whatever fails raises, and nothing is written.

-- PD005 unless all these blobs were put. They stay until the end of the transaction.
CREATE FUNCTION perdure.require_blobs(p_hashes bytea[], p_sizes bigint[]) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  v_missing bytea;
BEGIN
  PERFORM FROM perdure.blob WHERE hash = ANY (p_hashes) FOR KEY SHARE;
  SELECT r.hash INTO v_missing FROM unnest(p_hashes, p_sizes) r(hash, size)
    WHERE NOT EXISTS (SELECT FROM perdure.blob b WHERE b.hash = r.hash AND b.size = r.size) LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION USING ERRCODE = 'PD005', MESSAGE = format(
      'blob %s was not put before it was named', encode(v_missing, 'hex'));
  END IF;
END $$;

-- What a commit is answered: whether it was there before, and its receipt. One value, since a row of
-- several would cost as much as the receipt itself; numbers have 8 bytes.
CREATE FUNCTION perdure.answer(
  p_repeated boolean, p_first bigint, p_count bigint, p_head bigint, p_version bigint, p_at bigint,
  p_chain bytea) RETURNS bytea
LANGUAGE sql IMMUTABLE AS $$
  SELECT boolsend(p_repeated) || int8send(p_first) || int8send(p_count) || int8send(p_head)
    || int8send(coalesce(p_version, 0)) || int8send(p_at) || p_chain
$$;

-- Whether a batch may be committed. Holds the session's row; answers with the receipt if the batch is
-- there already; raises what speaks against it; null: nothing does.
CREATE FUNCTION perdure.examine_commit(p_session text, p_worker text, p_fence bigint, p_batch text,
                                       p_head bigint, p_count bigint, p_sync boolean,
                                       p_begins boolean, p_status text) RETURNS bytea
LANGUAGE plpgsql AS $$
DECLARE
  x perdure.session;
  r perdure.receipt;
  v_owner text;
BEGIN
  SELECT * INTO x FROM perdure.session s WHERE s.id = p_session FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    RAISE EXCEPTION USING ERRCODE = 'PD001', DETAIL = p_session,
      MESSAGE = format('there is no session %s', p_session);
  END IF;
  -- Asked while the row is held: the first commit of the batch may have held it until just before.
  SELECT * INTO r FROM perdure.receipt t WHERE t.session = x.num AND t.batch = p_batch;
  IF FOUND THEN
    -- The first answer may have been lost before its sync: this one must not rest on less.
    IF p_sync THEN
      UPDATE perdure.session s SET revision = s.revision WHERE s.num = x.num;
    END IF;
    RETURN perdure.answer(true, r.first, r.count, r.head, r.version, r.at, r.chain);
  END IF;
  SELECT w.id INTO v_owner FROM perdure.worker w WHERE w.num = x.owner;
  IF v_owner IS DISTINCT FROM p_worker OR x.fence <> p_fence THEN
    RAISE EXCEPTION USING ERRCODE = 'PD002', DETAIL = coalesce(v_owner, ''), MESSAGE = format(
      'session %s is at fence %s, this lease has %s: another worker took it over or it was '
      'released. Stop, and acquire it anew.', p_session, x.fence, p_fence);
  END IF;
  IF x.head <> p_head THEN
    RAISE EXCEPTION USING ERRCODE = 'PD003', DETAIL = x.head, MESSAGE = format(
      'session %s is at position %s, the batch expected %s', p_session, x.head, p_head);
  END IF;
  IF x.next + p_count > 4294967295 THEN
    RAISE EXCEPTION USING ERRCODE = 'PD005',
      MESSAGE = 'the session has no positions left: fork it';
  END IF;
  -- What was begun before may still be recorded.
  IF p_begins AND coalesce(p_status, x.status) IN ('completed', 'failed', 'cancelled') THEN
    RAISE EXCEPTION USING ERRCODE = 'PD003', MESSAGE = format(
      'the session is %s: it begins no call and no child; reopen it first',
      coalesce(p_status, x.status));
  END IF;
  RETURN NULL;
END $$;

-- PD003 while a call of the session has no outcome: it must not be completed, or fail.
CREATE FUNCTION perdure.check_end(p_num bigint, p_session text) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  v_call bigint;
BEGIN
  SELECT min(c.position) INTO v_call FROM perdure.call c
    WHERE c.session = p_num AND c.state IN ('intended', 'dispatched', 'in_doubt');
  IF v_call IS NOT NULL THEN
    RAISE EXCEPTION USING ERRCODE = 'PD003', DETAIL = perdure.call_name(p_session, v_call),
      MESSAGE = 'a call is unresolved: resolve it first';
  END IF;
END $$;

-- Takes the head back to a point of the session's past, with what was added up until there.
CREATE FUNCTION perdure.branch(p_session text, p_kind bigint, p_number bigint) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  v_num bigint;
  v_next bigint;
  h record;
  t record;
BEGIN
  SELECT x.num, x.next INTO v_num, v_next FROM perdure.session x WHERE x.id = p_session;
  SELECT * INTO h FROM perdure.hold(v_num, p_kind, p_number, 'PD005');
  SELECT * INTO t FROM perdure.tally_at(h.segment, h.position);
  UPDATE perdure.session x SET head = h.position,
      segment = perdure.open_segment(v_num, v_next, h.segment, h.position), turns = t.turns,
      steps = t.steps, tokens_in = t.tokens_in, tokens_out = t.tokens_out,
      cost_micros = t.cost_micros
    WHERE x.num = v_num;
END $$;

-- What a batch does beside adding entries and naming a position.
CREATE FUNCTION perdure.apply_rest(
  p_rest jsonb, p_num bigint, p_session text, p_segment bigint, p_fence bigint, p_first bigint,
  p_head bigint, p_at bigint) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  v_attention bigint := 0;
  v_message text;
  v_one jsonb;
BEGIN
  IF p_rest ? 'blobs' THEN
    PERFORM perdure.require_blobs(array_agg(decode(b ->> 'hash', 'hex')),
                                  array_agg((b ->> 'size')::bigint))
      FROM jsonb_array_elements(p_rest -> 'blobs') b;
  END IF;
  FOR v_one IN SELECT * FROM jsonb_array_elements(p_rest -> 'calls') LOOP
    v_attention := v_attention + perdure.apply_call(
      p_num, p_session, p_segment, p_fence, p_first, p_head, p_at, v_one);
  END LOOP;
  IF v_attention <> 0 THEN
    UPDATE perdure.session x SET attention = x.attention + v_attention WHERE x.num = p_num;
  END IF;
  FOR v_message IN SELECT * FROM jsonb_array_elements_text(p_rest -> 'consumed') LOOP
    UPDATE perdure.message m SET consumed = true, body = NULL, bytes = NULL
      WHERE m.session = p_num AND m.id = v_message AND NOT m.consumed;
    IF NOT FOUND THEN
      RAISE EXCEPTION USING ERRCODE = 'PD003', DETAIL = v_message, MESSAGE = format(
        'message %s is not waiting in the inbox: it was consumed before or never posted',
        v_message);
    END IF;
  END LOOP;
  IF p_rest ?| ARRAY['title', 'opening', 'tags', 'metadata'] THEN
    PERFORM perdure.update_annotation(p_num, p_rest ->> 'title', p_rest ->> 'opening',
                                      p_rest ->> 'tags', p_rest ->> 'metadata');
  END IF;
  FOR v_one IN SELECT * FROM jsonb_array_elements(p_rest -> 'children') LOOP
    PERFORM perdure.make_session(p_at, v_one);
  END LOOP;
END $$;

-- One batch, whatever is in it. Every statement in here is paid for by every commit, and in each the
-- server sets up every column and every operator again: so there are few, and they name what they need.
--
-- It is first tried without a look at what could speak against it: the update of the session's row says
-- whether anything does, and only then it is examined. A repetition finds the head moved on, unless
-- the session went back to where it was; then, or if the update waited for the first commit, the two
-- receipts collide (23505), and the client, which repeats it to be examined, finds the first one.
CREATE FUNCTION perdure.commit(
  p_now bigint, p_sync boolean,
  p_session text, p_worker text, p_fence bigint, p_batch text, p_head bigint,
  -- Whether to look for its receipt first: it may be there, or it has no entries, or a branch.
  p_examine boolean,
  p_entries perdure.new_entry[],
  -- What all entries add.
  p_turns bigint, p_steps bigint, p_tokens_in bigint, p_tokens_out bigint, p_cost_micros bigint,
  -- What the seal is the hash of, in hex, with a `t` where the commit's time belongs.
  p_seal text,
  k_reason text, k_label text, k_metadata text,
  s_status text, s_wait_reason text, s_wake_at bigint,
  -- What few batches have (rest_of in operations/commit.cpp).
  p_rest jsonb,
  -- Of a batch that is the first of its session: how to make that.
  p_uptime bigint, p_first_row jsonb) RETURNS bytea
LANGUAGE plpgsql AS $$
DECLARE
  v_count bigint := cardinality(p_entries);
  v_is_examined boolean := p_examine;
  -- Whether it intends or dispatches a call, or creates a session.
  v_begins boolean := coalesce(p_rest ? 'children' OR p_rest @?
    '$.calls[*] ? (@.to == "intended" || @.to == "dispatched")', false);
  v_at bigint;
  v_begun bigint;
  -- Of the session, after the commit.
  v_num bigint;
  v_segment bigint;
  v_head bigint;
  v_version bigint;
  v_commits bigint;
  v_chain bytea;
  v_turns bigint;
  v_steps bigint;
  v_tokens_in bigint;
  v_tokens_out bigint;
  v_cost bigint;
  -- Of the commit.
  v_first bigint;
  v_answer bytea;
BEGIN
  IF NOT p_sync OR current_setting('synchronous_commit') = 'off' THEN
    PERFORM perdure.set_sync(p_sync);
  END IF;
  IF p_first_row IS NOT NULL THEN
    PERFORM perdure.begin_session(p_now, p_uptime, p_worker, p_first_row);
  END IF;
  LOOP
    IF v_is_examined THEN
      v_answer := perdure.examine_commit(p_session, p_worker, p_fence, p_batch, p_head, v_count,
                                         p_sync, v_begins, s_status);
      IF v_answer IS NOT NULL THEN RETURN v_answer; END IF;
      IF p_rest ? 'branch_kind' THEN
        PERFORM perdure.branch(p_session, (p_rest ->> 'branch_kind')::bigint,
                               (p_rest ->> 'branch_number')::bigint);
      END IF;
    END IF;
    v_at := coalesce(p_now, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint);
    UPDATE perdure.session x SET updated_at = v_at,
        head = CASE WHEN v_count > 0 THEN x.next + v_count - 1 ELSE x.head END,
        next = x.next + v_count, version = x.version + (k_reason IS NOT NULL)::integer,
        commits = x.commits + 1, revision = x.revision + 1,
        chain = sha256(x.chain
          || sha256(decode(replace(p_seal, 't', encode(int8send(v_at), 'hex')), 'hex'))
          || int8send(x.head) || int8send(x.next)),
        turns = x.turns + p_turns, steps = x.steps + p_steps,
        tokens_in = x.tokens_in + p_tokens_in, tokens_out = x.tokens_out + p_tokens_out,
        cost_micros = x.cost_micros + p_cost_micros,
        status = coalesce(s_status, x.status),
        wait_reason = CASE WHEN s_status IS NULL THEN x.wait_reason ELSE s_wait_reason END,
        wake_at = CASE WHEN s_status IS NULL THEN x.wake_at ELSE s_wake_at END,
        restored = x.restored AND s_status IS NULL
      WHERE x.id = p_session AND (v_is_examined OR (
        x.owner = (SELECT w.num FROM perdure.worker w WHERE w.id = p_worker) AND x.fence = p_fence
        AND x.head = p_head AND x.next + v_count <= 4294967295 AND (NOT v_begins
          OR coalesce(s_status, x.status) NOT IN ('completed', 'failed', 'cancelled'))))
      RETURNING nextval('perdure.begun'), x.num, x.segment, x.next - v_count, x.head, x.version,
        x.commits, x.chain, x.turns, x.steps, x.tokens_in, x.tokens_out, x.cost_micros
      INTO v_begun, v_num, v_segment, v_first, v_head, v_version, v_commits, v_chain, v_turns,
        v_steps, v_tokens_in, v_tokens_out, v_cost;
    EXIT WHEN FOUND;
    v_is_examined := true;
  END LOOP;
  INSERT INTO perdure.receipt (session, batch, number, segment, first, count, head, version, at,
      fence, chain)
    VALUES (v_num, p_batch, v_commits, v_segment, v_first, v_count, v_head,
      CASE WHEN k_reason IS NOT NULL THEN v_version END, v_at, p_fence, v_chain);
  IF v_count > 0 THEN
    INSERT INTO perdure.entry (session, position, segment, channel, kind, fold, codec, at, turns,
        steps, tokens_in, tokens_out, cost_micros, hash, body, bytes)
      SELECT v_num, v_first + e.position, v_segment, e.channel, e.kind, e.fold, e.codec,
          coalesce(e.at, v_at), e.turns, e.steps, e.tokens_in, e.tokens_out, e.cost_micros, e.hash,
          e.body, e.bytes
        FROM unnest(p_entries) e;
  END IF;
  IF k_reason IS NOT NULL THEN
    INSERT INTO perdure.checkpoint (session, version, segment, position, at, reason, label, metadata,
        turns, steps, tokens_in, tokens_out, cost_micros)
      VALUES (v_num, v_version, v_segment, v_head, v_at, k_reason, k_label, k_metadata, v_turns,
        v_steps, v_tokens_in, v_tokens_out, v_cost);
  END IF;
  IF p_rest IS NOT NULL THEN
    PERFORM perdure.apply_rest(p_rest, v_num, p_session, v_segment, p_fence, v_first, v_head, v_at);
  END IF;
  IF s_status IN ('completed', 'failed') THEN
    PERFORM perdure.check_end(v_num, p_session);
  END IF;
  -- A message posted just before the session began to wait must not wait with it.
  IF s_status = 'waiting' THEN
    UPDATE perdure.session x SET wake_at = least(coalesce(x.wake_at, v_at), v_at)
      WHERE x.num = v_num AND EXISTS (
        SELECT FROM perdure.message m WHERE m.session = v_num AND NOT m.consumed);
  END IF;
  RETURN perdure.answer(false, v_first, v_count, v_head,
                        CASE WHEN k_reason IS NOT NULL THEN v_version END, v_at, v_chain);
END $$;
