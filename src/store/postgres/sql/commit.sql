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
CREATE FUNCTION perdure.examine_commit(b perdure.new_batch, p_sync boolean) RETURNS bytea
LANGUAGE plpgsql AS $$
DECLARE
  x perdure.session;
  r perdure.receipt;
  v_owner text;
BEGIN
  SELECT * INTO x FROM perdure.session s WHERE s.id = b.session FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    RAISE EXCEPTION USING ERRCODE = 'PD001', DETAIL = b.session,
      MESSAGE = format('there is no session %s', b.session);
  END IF;
  -- Asked while the row is held: the first commit of the batch may have held it until just before.
  SELECT * INTO r FROM perdure.receipt t WHERE t.session = x.num AND t.batch = b.id;
  IF FOUND THEN
    -- The first answer may have been lost before its sync: this one must not rest on less.
    IF p_sync THEN
      UPDATE perdure.session s SET revision = s.revision WHERE s.num = x.num;
    END IF;
    RETURN perdure.answer(true, r.first, r.count, r.head, r.version, r.at, r.chain);
  END IF;
  SELECT w.id INTO v_owner FROM perdure.worker w WHERE w.num = x.owner;
  IF v_owner IS DISTINCT FROM b.worker OR x.fence <> b.fence THEN
    RAISE EXCEPTION USING ERRCODE = 'PD002', DETAIL = coalesce(v_owner, ''), MESSAGE = format(
      'session %s is at fence %s, this lease has %s: another worker took it over or it was '
      'released. Stop, and acquire it again.', b.session, x.fence, b.fence);
  END IF;
  IF x.head <> b.head THEN
    RAISE EXCEPTION USING ERRCODE = 'PD003', DETAIL = x.head, MESSAGE = format(
      'session %s is at position %s, the batch expected %s', b.session, x.head, b.head);
  END IF;
  IF x.next + cardinality(b.entries) > 4294967295 THEN
    RAISE EXCEPTION USING ERRCODE = 'PD005',
      MESSAGE = 'the session has no positions left: fork it';
  END IF;
  -- What was started before may still be recorded.
  IF b.begins AND coalesce(b.status, x.status) IN ('completed', 'failed', 'cancelled') THEN
    RAISE EXCEPTION USING ERRCODE = 'PD003', MESSAGE = format(
      'the session is %s: it begins no call and no child; reopen it first',
      coalesce(b.status, x.status));
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

-- Takes the head back to a point of the session's past, with what was added up until there. Returns the
-- new head.
CREATE FUNCTION perdure.branch(p_session text, p_rest jsonb) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
  v_num bigint;
  v_next bigint;
  h record;
  t record;
BEGIN
  SELECT x.num, x.next INTO v_num, v_next FROM perdure.session x WHERE x.id = p_session;
  SELECT * INTO h FROM perdure.hold(v_num, (p_rest ->> 'branch_kind')::bigint,
                                    (p_rest ->> 'branch_number')::bigint, 'PD005');
  SELECT * INTO t FROM perdure.tally_at(h.segment, h.position);
  UPDATE perdure.session x SET head = h.position,
      segment = perdure.open_segment(v_num, v_next, h.segment, h.position), turns = t.turns,
      steps = t.steps, tokens_in = t.tokens_in, tokens_out = t.tokens_out,
      cost_micros = t.cost_micros
    WHERE x.num = v_num;
  RETURN h.position;
END $$;

-- What a batch does beside adding entries and naming a position.
CREATE FUNCTION perdure.apply_rest(b perdure.new_batch, p_num bigint, p_segment bigint,
                                   p_first bigint, p_head bigint, p_at bigint) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  v_rest CONSTANT jsonb := b.rest;
  v_attention bigint := 0;
  v_message text;
  v_one jsonb;
BEGIN
  IF v_rest ? 'blobs' THEN
    PERFORM perdure.require_blobs(array_agg(decode(r ->> 'hash', 'hex')),
                                  array_agg((r ->> 'size')::bigint))
      FROM jsonb_array_elements(v_rest -> 'blobs') r;
  END IF;
  FOR v_one IN SELECT * FROM jsonb_array_elements(v_rest -> 'calls') LOOP
    v_attention := v_attention + perdure.apply_call(
      p_num, b.session, p_segment, b.fence, p_first, p_head, p_at, v_one);
  END LOOP;
  IF v_attention <> 0 THEN
    UPDATE perdure.session x SET attention = x.attention + v_attention WHERE x.num = p_num;
  END IF;
  FOR v_message IN SELECT * FROM jsonb_array_elements_text(v_rest -> 'consumed') LOOP
    UPDATE perdure.message m SET consumed = true, body = NULL, bytes = NULL
      WHERE m.session = p_num AND m.id = v_message AND NOT m.consumed;
    IF NOT FOUND THEN
      RAISE EXCEPTION USING ERRCODE = 'PD003', DETAIL = v_message, MESSAGE = format(
        'message %s is not waiting in the inbox: it was consumed before or never posted',
        v_message);
    END IF;
  END LOOP;
  IF v_rest ?| ARRAY['title', 'opening', 'tags', 'metadata'] THEN
    PERFORM perdure.update_annotation(p_num, v_rest ->> 'title', v_rest ->> 'opening',
                                      v_rest ->> 'tags', v_rest ->> 'metadata');
  END IF;
  FOR v_one IN SELECT * FROM jsonb_array_elements(v_rest -> 'children') LOOP
    PERFORM perdure.make_session(p_at, v_one);
  END LOOP;
  IF b.status IN ('completed', 'failed') THEN
    PERFORM perdure.check_end(p_num, b.session);
  END IF;
  -- A message posted just before the session began to wait must not wait with it.
  IF b.status = 'waiting' THEN
    UPDATE perdure.session x SET wake_at = least(coalesce(x.wake_at, p_at), p_at)
      WHERE x.num = p_num AND EXISTS (
        SELECT FROM perdure.message m WHERE m.session = p_num AND NOT m.consumed);
  END IF;
END $$;

-- Commits batches of as many sessions, one or many, in one statement for what all of them have: what a
-- statement costs before it does anything is paid once. Returns an answer for each; one that is refused
-- raises, and nothing is written.
--
-- Those that `p_examine` names, by their places from 1 on, are examined first: their receipts may be there,
-- they have no entries, they branch, or they make their session. The others are first tried without a look
-- at what could speak against them: the update of the session's row finds whether anything does, and
-- only then they are examined. A repetition finds the head moved on, unless the session went back to where it
-- was; then, or if the update waited for the first commit, the two receipts collide (23505), and the client,
-- which repeats it to be examined, finds the first one.
--
-- `= ANY (ARRAY …)` finds a session by its index in every plan; a plain `=` may become a join with all of them.
CREATE FUNCTION perdure.commit(p_sync boolean, p_examine bigint[], p_batches perdure.new_batch[])
RETURNS bytea[]
LANGUAGE plpgsql AS $$
DECLARE
  v_answers bytea[] := '{}';
  v_left bigint := cardinality(p_batches);
  v_i bigint;
  v_now bigint;
  v_batch perdure.new_batch;
  v_done record;
BEGIN
  IF NOT p_sync OR current_setting('synchronous_commit') = 'off' THEN
    PERFORM perdure.set_sync(p_sync);
  END IF;
  LOOP
    FOREACH v_i IN ARRAY p_examine LOOP
      v_batch := p_batches[v_i];
      IF v_batch.first_row IS NOT NULL THEN
        PERFORM perdure.begin_session(v_batch.at, v_batch.uptime, v_batch.worker,
                                      v_batch.first_row::jsonb);
      END IF;
      v_answers[v_i] := perdure.examine_commit(v_batch, p_sync);
      IF v_answers[v_i] IS NOT NULL THEN
        v_left := v_left - 1;
      ELSIF v_batch.rest::jsonb ? 'branch_kind' THEN
        p_batches[v_i].head := perdure.branch(v_batch.session, v_batch.rest::jsonb);
      END IF;
    END LOOP;
    v_now := floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint;
    FOR v_done IN
      WITH done AS (
        UPDATE perdure.session x SET updated_at = coalesce(b.at, v_now),
            head = CASE WHEN b.count > 0 THEN x.next + b.count - 1 ELSE x.head END,
            next = x.next + b.count, version = x.version + (b.reason IS NOT NULL)::integer,
            commits = x.commits + 1, revision = x.revision + 1,
            chain = sha256(x.chain || sha256(decode(replace(b.seal, 't', encode(int8send(
              coalesce(b.at, v_now)), 'hex')), 'hex')) || int8send(x.head) || int8send(x.next)),
            turns = x.turns + b.turns, steps = x.steps + b.steps,
            tokens_in = x.tokens_in + b.tokens_in, tokens_out = x.tokens_out + b.tokens_out,
            cost_micros = x.cost_micros + b.cost_micros, status = coalesce(b.status, x.status),
            wait_reason = CASE WHEN b.status IS NULL THEN x.wait_reason ELSE b.wait_reason END,
            wake_at = CASE WHEN b.status IS NULL THEN x.wake_at ELSE b.wake_at END,
            restored = x.restored AND b.status IS NULL
          FROM (SELECT u.*, cardinality(u.entries) AS count
                  FROM unnest(p_batches) WITH ORDINALITY u
                  WHERE v_answers[u.ordinality] IS NULL) b
          WHERE x.id = ANY (ARRAY[b.session]) AND x.fence = b.fence AND x.head = b.head
            AND x.owner = (SELECT w.num FROM perdure.worker w WHERE w.id = b.worker)
            AND x.next + b.count <= 4294967295 AND (NOT b.begins
              OR coalesce(b.status, x.status) NOT IN ('completed', 'failed', 'cancelled'))
          RETURNING b.ordinality AS i, nextval('perdure.begun'), x.num, x.segment,
            x.next - b.count AS first, b.count, x.head, x.version,
            CASE WHEN b.reason IS NOT NULL THEN x.version END AS named, x.commits,
            x.updated_at AS at, x.fence, x.chain, x.turns, x.steps, x.tokens_in, x.tokens_out,
            x.cost_micros, b.id, b.rest IS NOT NULL OR b.status IS NOT NULL AS has_more),
      receipts AS (
        INSERT INTO perdure.receipt (session, batch, number, segment, first, count, head, version,
            at, fence, chain)
          SELECT d.num, d.id, d.commits, d.segment, d.first, d.count, d.head, d.named, d.at,
              d.fence, d.chain
            FROM done d),
      entries AS (
        INSERT INTO perdure.entry (session, position, segment, channel, kind, fold, codec, at,
            turns, steps, tokens_in, tokens_out, cost_micros, hash, body, bytes)
          SELECT d.num, d.first + e.position, d.segment, e.channel, e.kind, e.fold, e.codec,
              coalesce(e.at, d.at), e.turns, e.steps, e.tokens_in, e.tokens_out, e.cost_micros,
              e.hash, e.body, e.bytes
            FROM done d CROSS JOIN LATERAL unnest(p_batches[d.i].entries) e),
      checkpoints AS (
        INSERT INTO perdure.checkpoint (session, version, segment, position, at, reason, label,
            metadata, turns, steps, tokens_in, tokens_out, cost_micros)
          SELECT d.num, d.version, d.segment, d.head, d.at, p_batches[d.i].reason,
              p_batches[d.i].label, p_batches[d.i].metadata, d.turns, d.steps, d.tokens_in,
              d.tokens_out, d.cost_micros
            FROM done d WHERE d.named IS NOT NULL)
      SELECT d.i, d.num, d.segment, d.first, d.head, d.at, d.has_more, perdure.answer(
          false, d.first, d.count, d.head, d.named, d.at, d.chain) AS answer FROM done d
    LOOP
      IF v_done.has_more THEN
        PERFORM perdure.apply_rest(p_batches[v_done.i], v_done.num, v_done.segment,
                                   v_done.first, v_done.head, v_done.at);
      END IF;
      v_answers[v_done.i] := v_done.answer;
      v_left := v_left - 1;
    END LOOP;
    IF v_left = 0 THEN RETURN v_answers; END IF;
    p_examine := ARRAY(SELECT i FROM generate_subscripts(p_batches, 1) i
                         WHERE v_answers[i] IS NULL);
  END LOOP;
END $$;

-- The same for each batch by itself, where one of a group was refused: what is refused is answered with 2, the
-- SQLSTATE, and message and detail, the message with its length before it.
CREATE FUNCTION perdure.commit_each(p_sync boolean, p_examine bigint[],
                                    p_batches perdure.new_batch[]) RETURNS bytea[]
LANGUAGE plpgsql AS $$
DECLARE
  v_answers bytea[] := '{}';
  v_code text;
  v_message text;
  v_detail text;
BEGIN
  FOR i IN 1 .. cardinality(p_batches) LOOP
    BEGIN
      v_answers := v_answers || perdure.commit(
        p_sync, CASE WHEN i = ANY (p_examine) THEN '{1}' ELSE '{}' END::bigint[], p_batches[i:i]);
    EXCEPTION WHEN OTHERS THEN
      GET STACKED DIAGNOSTICS v_code = RETURNED_SQLSTATE, v_message = MESSAGE_TEXT,
        v_detail = PG_EXCEPTION_DETAIL;
      v_answers := v_answers || ('\x02' || convert_to(v_code, 'UTF8')
        || int8send(octet_length(v_message)) || convert_to(v_message || v_detail, 'UTF8'));
    END;
  END LOOP;
  RETURN v_answers;
END $$;
