-- Who may write. Time is the server's; `p_uptime` takes its place in tests.
--
-- A worker is live until its time has passed or it has ended. `p_gone` names one whose process the
-- caller knows to have ended, by what the worker's row says of it.

CREATE FUNCTION perdure.require_live_worker(p_worker text, p_uptime bigint) RETURNS bigint
LANGUAGE plpgsql STABLE AS $$
DECLARE
  w perdure.worker;
BEGIN
  SELECT * INTO w FROM perdure.worker WHERE id = p_worker;
  IF NOT FOUND OR w.ended OR w.until <= p_uptime THEN
    RAISE EXCEPTION USING ERRCODE = 'PD002', DETAIL = p_worker, MESSAGE = format(
      'worker %s is not enrolled, or its lease time has passed', p_worker);
  END IF;
  RETURN w.num;
END $$;

-- PD006 if a live worker holds it.
CREATE FUNCTION perdure.require_free(p_owner bigint, p_what text, p_since bigint, p_uptime bigint,
                                     p_gone text) RETURNS void
LANGUAGE plpgsql STABLE AS $$
DECLARE
  w perdure.worker;
BEGIN
  SELECT * INTO w FROM perdure.worker WHERE num = p_owner;
  IF FOUND AND NOT w.ended AND w.until > p_uptime AND w.id IS DISTINCT FROM p_gone THEN
    RAISE EXCEPTION USING ERRCODE = 'PD006', DETAIL = w.id, MESSAGE = format(
      '%s is held by worker %s (host %s, pid %s) since %s', p_what, w.id, w.host, w.pid,
      to_char(to_timestamp(p_since / 1000.0) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'));
  END IF;
END $$;

CREATE FUNCTION perdure.enroll(p_uptime bigint, p_nonce text, p_worker text, p_host text,
                               p_pid bigint, p_process text, p_lease_time bigint,
                               p_gone bigint[]) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  v_up bigint := coalesce(p_uptime, perdure.clock_ms());
BEGIN
  PERFORM perdure.begin_write(false);
  -- Those that hold nothing and can never come back. Of other machines, those that have been silent
  -- for 30 days.
  DELETE FROM perdure.worker w
    WHERE (w.ended OR w.num = ANY (p_gone) OR w.until < v_up - 2592000000)
      AND NOT EXISTS (SELECT FROM perdure.session s WHERE s.owner = w.num)
      AND NOT EXISTS (SELECT FROM perdure.resource r WHERE r.worker = w.num);
  INSERT INTO perdure.worker (num, id, host, pid, process, lease_time, until, ended, nonce)
    VALUES (nextval('perdure.worker_num'), p_worker, p_host, p_pid, p_process, p_lease_time,
            v_up + p_lease_time, false, p_nonce)
    ON CONFLICT (id) DO NOTHING;
  IF NOT FOUND AND p_nonce IS DISTINCT FROM
      (SELECT w.nonce FROM perdure.worker w WHERE w.id = p_worker) THEN
    RAISE EXCEPTION USING ERRCODE = 'PD004', DETAIL = p_worker,
      MESSAGE = format('worker %s is enrolled already', p_worker);
  END IF;
END $$;

CREATE FUNCTION perdure.renew(p_uptime bigint, p_worker text) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
  PERFORM perdure.begin_write(false);
  UPDATE perdure.worker SET until = lease_time +
      coalesce(p_uptime, perdure.clock_ms())
    WHERE id = p_worker AND NOT ended;
  RETURN FOUND;
END $$;

CREATE FUNCTION perdure.retire(p_worker text) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  v_num bigint;
BEGIN
  PERFORM perdure.begin_write(false);
  SELECT num INTO v_num FROM perdure.worker WHERE id = p_worker FOR UPDATE;
  IF NOT FOUND THEN RETURN; END IF;
  UPDATE perdure.session SET owner = NULL, owned_since = NULL, revision = revision + 1
    WHERE owner = v_num;
  UPDATE perdure.resource SET worker = NULL WHERE worker = v_num;
  DELETE FROM perdure.worker WHERE num = v_num;
END $$;

-- The store objects of these workers are closed: they write no more.
CREATE FUNCTION perdure.end_workers(p_workers text[]) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  PERFORM perdure.begin_write(false);
  UPDATE perdure.worker SET ended = true WHERE id = ANY (p_workers);
END $$;

CREATE FUNCTION perdure.acquire(p_now bigint, p_uptime bigint, p_sync boolean, p_session text,
                                p_worker text, p_gone text) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
  v_now bigint := perdure.clock_ms();
  v_worker bigint;
  s record;
BEGIN
  PERFORM perdure.begin_write(p_sync);
  SELECT num, owner, owned_since, fence, moved INTO s FROM perdure.session WHERE id = p_session
    FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    RAISE EXCEPTION USING ERRCODE = 'PD001', DETAIL = p_session,
      MESSAGE = format('there is no session %s', p_session);
  END IF;
  PERFORM perdure.require_here(p_session, s.moved);
  v_worker := perdure.require_live_worker(p_worker, coalesce(p_uptime, v_now));
  IF s.owner = v_worker THEN RETURN s.fence; END IF;
  PERFORM perdure.require_free(s.owner, 'session ' || p_session, s.owned_since,
                               coalesce(p_uptime, v_now), p_gone);
  UPDATE perdure.session SET owner = v_worker, owned_since = coalesce(p_now, v_now),
      fence = fence + 1, revision = revision + 1
    WHERE num = s.num;
  RETURN s.fence + 1;
END $$;

CREATE FUNCTION perdure.release(p_session text, p_worker text, p_fence bigint) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  PERFORM perdure.begin_write(false);
  UPDATE perdure.session SET owner = NULL, owned_since = NULL, revision = revision + 1
    WHERE id = p_session AND fence = p_fence
      AND owner = (SELECT num FROM perdure.worker WHERE id = p_worker);
END $$;

CREATE FUNCTION perdure.acquire_resource(p_now bigint, p_uptime bigint, p_sync boolean, p_name text,
                                         p_worker text, p_gone text) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
  v_now bigint := perdure.clock_ms();
  v_worker bigint;
  r perdure.resource;
BEGIN
  PERFORM perdure.begin_write(p_sync);
  v_worker := perdure.require_live_worker(p_worker, coalesce(p_uptime, v_now));
  INSERT INTO perdure.resource (name, worker, fence, since) VALUES (p_name, NULL, 0, 0)
    ON CONFLICT (name) DO NOTHING;
  SELECT * INTO r FROM perdure.resource WHERE name = p_name FOR NO KEY UPDATE;
  IF r.worker = v_worker THEN RETURN r.fence; END IF;
  PERFORM perdure.require_free(r.worker, 'resource ' || p_name, r.since, coalesce(p_uptime, v_now),
                               p_gone);
  UPDATE perdure.resource SET worker = v_worker, fence = fence + 1, since = coalesce(p_now, v_now)
    WHERE name = p_name;
  RETURN r.fence + 1;
END $$;
