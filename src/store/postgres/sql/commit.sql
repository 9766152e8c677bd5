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

-- The answer to a batch that is there already; null if it is not. Asked while the session's row is
-- held: the first commit of the batch may have held it until just before.
CREATE FUNCTION perdure.repeat_commit(p_num bigint, p_batch text, p_sync boolean) RETURNS bytea
LANGUAGE plpgsql AS $$
DECLARE
  r perdure.receipt;
BEGIN
  SELECT * INTO r FROM perdure.receipt x WHERE x.session = p_num AND x.batch = p_batch;
  IF NOT FOUND THEN RETURN NULL; END IF;
  -- The first answer may have been lost before its sync: this one must not rest on less.
  IF p_sync THEN
    UPDATE perdure.session x SET revision = x.revision WHERE x.num = p_num;
  END IF;
  RETURN perdure.answer(true, r.first, r.count, r.head, r.version, r.at, r.chain);
END $$;

-- Every statement in here is paid for by every commit, so there are few, and they name what they
-- need.
CREATE FUNCTION perdure.commit(
  p_now bigint, p_sync boolean,
  p_session text, p_worker text, p_fence bigint, p_batch text, p_head bigint,
  p_branch_kind bigint, p_branch_number bigint,
  -- Entries. Hashes one after the other; of each entry eight numbers: fold, codec, time, and what it
  -- adds to turns, steps, tokens in and out, cost. What all of them add is in p_totals.
  e_channel text[], e_kind text[], e_numbers bigint[], e_hashes bytea, e_body text[], e_bytes bytea[],
  p_totals bigint[],
  -- The parts of the seal that the client can compute.
  p_seal bytea, e_seal bytea[],
  p_blobs bytea[], p_blob_sizes bigint[],
  -- Calls, as apply_call takes them.
  c_op smallint[], c_call bigint[], c_other bigint[], c_tool text[], c_provider_id bytea[],
  c_effect text[], c_key bytea[], c_state text[], c_deadline bigint[], c_who text[], c_why text[],
  k_reason text, k_label text, k_metadata text,
  s_status text, s_wait_reason text, s_wake_at bigint,
  a_title text, a_opening text, a_tags text, a_metadata text,
  p_consumed text[], p_children jsonb) RETURNS bytea
LANGUAGE plpgsql AS $$
DECLARE
  v_count bigint := cardinality(e_channel);
  v_at bigint;
  v_begun bigint;
  -- Of the session, before and then after the commit.
  v_num bigint;
  v_owner text;
  v_fence bigint;
  v_segment bigint;
  v_head bigint;
  v_next bigint;
  v_version bigint;
  v_commits bigint;
  v_chain bytea;
  v_turns bigint;
  v_steps bigint;
  v_tokens_in bigint;
  v_tokens_out bigint;
  v_cost bigint;
  v_attention bigint;
  -- Of the commit.
  v_from bigint;
  v_first bigint;
  v_seal bytea;
  v_answer bytea;
  v_message text;
  v_child jsonb;
BEGIN
  IF NOT p_sync OR current_setting('synchronous_commit') = 'off' THEN
    PERFORM perdure.set_sync(p_sync);
  END IF;
  SELECT x.num, x.fence, x.segment, x.head, x.next, x.version, x.commits, x.chain, x.turns, x.steps,
      x.tokens_in, x.tokens_out, x.cost_micros, x.attention,
      (SELECT w.id FROM perdure.worker w WHERE w.num = x.owner)
    INTO v_num, v_fence, v_segment, v_head, v_next, v_version, v_commits, v_chain, v_turns, v_steps,
      v_tokens_in, v_tokens_out, v_cost, v_attention, v_owner
    FROM perdure.session x WHERE x.id = p_session FOR NO KEY UPDATE OF x;
  IF NOT FOUND THEN
    RAISE EXCEPTION USING ERRCODE = 'PD001', DETAIL = p_session,
      MESSAGE = format('there is no session %s', p_session);
  END IF;
  v_begun := nextval('perdure.begun');
  v_at := coalesce(p_now, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint);

  -- Where nothing speaks against the commit, whether it is a repetition shows when its receipt is
  -- written.
  IF v_owner IS DISTINCT FROM p_worker OR v_fence <> p_fence OR v_head <> p_head
      OR p_branch_kind IS NOT NULL OR v_next + v_count > 4294967295 THEN
    v_answer := perdure.repeat_commit(v_num, p_batch, p_sync);
    IF v_answer IS NOT NULL THEN RETURN v_answer; END IF;
    IF v_owner IS DISTINCT FROM p_worker OR v_fence <> p_fence THEN
      -- Anew, because it may have changed hands while we waited for the row.
      SELECT w.id INTO v_owner FROM perdure.session x JOIN perdure.worker w ON w.num = x.owner
        WHERE x.num = v_num;
      RAISE EXCEPTION USING ERRCODE = 'PD002', DETAIL = coalesce(v_owner, ''), MESSAGE = format(
        'session %s is at fence %s, this lease has %s: another worker took it over or it was '
        'released. Stop, and acquire it anew.', p_session, v_fence, p_fence);
    END IF;
    IF v_head <> p_head THEN
      RAISE EXCEPTION USING ERRCODE = 'PD003', DETAIL = v_head, MESSAGE = format(
        'session %s is at position %s, the batch expected %s', p_session, v_head, p_head);
    END IF;
    IF v_next + v_count > 4294967295 THEN
      RAISE EXCEPTION USING ERRCODE = 'PD005',
        MESSAGE = 'the session has no positions left: fork it';
    END IF;
    SELECT h.segment, h.position INTO v_segment, v_head
      FROM perdure.hold(v_num, p_branch_kind, p_branch_number, 'PD005') h;
    SELECT t.turns, t.steps, t.tokens_in, t.tokens_out, t.cost_micros
      INTO v_turns, v_steps, v_tokens_in, v_tokens_out, v_cost
      FROM perdure.tally_at(v_segment, v_head) t;
    v_segment := perdure.open_segment(v_num, v_next, v_segment, v_head);
  END IF;

  v_from := v_head;
  v_first := v_next;
  v_seal := p_seal || int8send(v_at) || int8send(v_count);
  IF v_count > 0 THEN
    FOR i IN 1 .. v_count LOOP
      v_seal := v_seal || e_seal[i] || int8send(coalesce(e_numbers[8 * i - 5], v_at));
    END LOOP;
    v_head := v_next + v_count - 1;
    v_next := v_next + v_count;
    v_turns := v_turns + p_totals[1];
    v_steps := v_steps + p_totals[2];
    v_tokens_in := v_tokens_in + p_totals[3];
    v_tokens_out := v_tokens_out + p_totals[4];
    v_cost := v_cost + p_totals[5];
  END IF;
  v_chain := sha256(v_chain || sha256(v_seal) || int8send(v_from) || int8send(v_first));
  IF k_reason IS NOT NULL THEN v_version := v_version + 1; END IF;
  INSERT INTO perdure.receipt (session, batch, number, segment, first, count, head, version, at,
      fence, chain)
    VALUES (v_num, p_batch, v_commits + 1, v_segment, v_first, v_count, v_head,
      CASE WHEN k_reason IS NOT NULL THEN v_version END, v_at, v_fence, v_chain)
    ON CONFLICT (session, batch) DO NOTHING;
  IF NOT FOUND THEN
    RETURN perdure.repeat_commit(v_num, p_batch, p_sync);
  END IF;

  IF p_blobs IS NOT NULL THEN
    PERFORM perdure.require_blobs(p_blobs, p_blob_sizes);
  END IF;
  -- To unnest one array and look the rest up is a third of the price of unnesting all of them, and
  -- half of that of an INSERT for each.
  IF v_count > 0 THEN
    INSERT INTO perdure.entry (session, position, segment, channel, kind, fold, codec, at, turns,
        steps, tokens_in, tokens_out, cost_micros, hash, body, bytes)
      SELECT v_num, v_first + e.i - 1, v_segment, e.channel, e_kind[e.i],
          e_numbers[8 * e.i - 7]::smallint, e_numbers[8 * e.i - 6]::smallint,
          coalesce(e_numbers[8 * e.i - 5], v_at), e_numbers[8 * e.i - 4], e_numbers[8 * e.i - 3],
          e_numbers[8 * e.i - 2], e_numbers[8 * e.i - 1], e_numbers[8 * e.i],
          substr(e_hashes, 32 * e.i::integer - 31, 32), e_body[e.i], e_bytes[e.i]
        FROM unnest(e_channel) WITH ORDINALITY e(channel, i);
  END IF;
  IF c_op IS NOT NULL THEN
    FOR i IN 1 .. cardinality(c_op) LOOP
      v_attention := v_attention + perdure.apply_call(
        v_num, p_session, v_segment, v_fence, v_first, v_head, v_at, c_op[i], c_call[i], c_other[i],
        c_tool[i], c_provider_id[i], c_effect[i], c_key[i], c_state[i], c_deadline[i], c_who[i],
        c_why[i]);
    END LOOP;
  END IF;
  IF p_consumed IS NOT NULL THEN
    FOREACH v_message IN ARRAY p_consumed LOOP
      UPDATE perdure.message m SET consumed = true, body = NULL, bytes = NULL
        WHERE m.session = v_num AND m.id = v_message AND NOT m.consumed;
      IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'PD003', DETAIL = v_message, MESSAGE = format(
          'message %s is not waiting in the inbox: it was consumed before or never posted',
          v_message);
      END IF;
    END LOOP;
  END IF;
  IF k_reason IS NOT NULL THEN
    INSERT INTO perdure.checkpoint (session, version, segment, position, at, reason, label, metadata,
        turns, steps, tokens_in, tokens_out, cost_micros)
      VALUES (v_num, v_version, v_segment, v_head, v_at, k_reason, k_label, k_metadata, v_turns,
        v_steps, v_tokens_in, v_tokens_out, v_cost);
  END IF;
  IF s_status IS NULL THEN
    UPDATE perdure.session x SET updated_at = v_at, segment = v_segment, head = v_head,
        next = v_next, version = v_version, commits = x.commits + 1, revision = x.revision + 1,
        chain = v_chain, turns = v_turns, steps = v_steps, tokens_in = v_tokens_in,
        tokens_out = v_tokens_out, cost_micros = v_cost, attention = v_attention
      WHERE x.num = v_num;
  ELSE
    -- A message posted just before the session began to wait must not wait with it.
    IF s_status = 'waiting' AND EXISTS (
         SELECT FROM perdure.message m WHERE m.session = v_num AND NOT m.consumed) THEN
      s_wake_at := least(coalesce(s_wake_at, v_at), v_at);
    END IF;
    UPDATE perdure.session x SET updated_at = v_at, segment = v_segment, head = v_head,
        next = v_next, version = v_version, commits = x.commits + 1, revision = x.revision + 1,
        chain = v_chain, turns = v_turns, steps = v_steps, tokens_in = v_tokens_in,
        tokens_out = v_tokens_out, cost_micros = v_cost, attention = v_attention,
        status = s_status, wait_reason = s_wait_reason, wake_at = s_wake_at, restored = false
      WHERE x.num = v_num;
  END IF;
  IF coalesce(a_title, a_opening, a_tags, a_metadata) IS NOT NULL THEN
    PERFORM perdure.update_annotation(v_num, a_title, a_opening, a_tags, a_metadata);
  END IF;
  IF p_children IS NOT NULL THEN
    FOR v_child IN SELECT * FROM jsonb_array_elements(p_children) LOOP
      PERFORM perdure.make_session(
        v_at, v_child ->> 'nonce', v_child ->> 'id', v_child ->> 'status', v_child ->> 'wait_reason',
        (v_child ->> 'wake_at')::bigint, v_child ->> 'title', v_child ->> 'opening',
        v_child ->> 'tags', v_child ->> 'metadata', v_child ->> 'origin',
        (v_child ->> 'origin_kind')::bigint, (v_child ->> 'origin_number')::bigint,
        v_child ->> 'lineage');
    END LOOP;
  END IF;
  RETURN perdure.answer(false, v_first, v_count, v_head,
                        CASE WHEN k_reason IS NOT NULL THEN v_version END, v_at, v_chain);
END $$;
