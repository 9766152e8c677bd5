-- What the store as a whole does: its writes, its identity, its server.

-- A write may go without a sync; one that says nothing is synced, whatever the server's default.
CREATE FUNCTION perdure.set_sync(p_sync boolean) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  IF NOT p_sync THEN
    PERFORM set_config('synchronous_commit', 'off', true);
  ELSIF current_setting('synchronous_commit') = 'off' THEN
    PERFORM set_config('synchronous_commit', 'on', true);
  END IF;
END $$;

CREATE FUNCTION perdure.begin_write(p_sync boolean) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  PERFORM nextval('perdure.begun');
  PERFORM perdure.set_sync(p_sync);
END $$;

-- Says that writes were committed: in a sequence, and to those who listen.
CREATE FUNCTION perdure.tell(p_channel text) RETURNS bigint
LANGUAGE plpgsql AS $$
BEGIN
  IF p_channel IS NOT NULL THEN
    PERFORM perdure.set_sync(false);
    PERFORM pg_notify(p_channel, '');
  END IF;
  RETURN nextval('perdure.told');
END $$;

-- Puts on disk what commits before it left in memory: a synced commit takes the log before it along.
CREATE FUNCTION perdure.sync() RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  PERFORM perdure.set_sync(true);
  UPDATE perdure.meta SET value = (value::bigint + 1)::text WHERE key = 'syncs';
END $$;

-- This store came out of a backup: nobody knows what the original did since. Fences jump further
-- than any number of take-overs, so that whoever compares them outside sees this one as later.
-- For a copy that is not recognised by itself (of the files of a stopped server, say), call it by
-- hand.
CREATE FUNCTION perdure.begin_anew(p_reason text) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  PERFORM perdure.begin_write(true);
  UPDATE perdure.meta SET value = 'sto_' || replace(gen_random_uuid()::text, '-', '')
    WHERE key = 'incarnation';
  DELETE FROM perdure.worker;
  UPDATE perdure.resource SET worker = NULL, fence = fence + 4294967296;
  UPDATE perdure.session SET owner = NULL, owned_since = NULL, fence = fence + 4294967296,
    revision = revision + 1, restored = status IN ('active', 'waiting', 'paused');
  -- Moves that were under way are off.
  UPDATE perdure.session SET moved = NULL WHERE moved LIKE 'moving %';
  DELETE FROM perdure.claim WHERE holder IN (SELECT owner FROM perdure.transit WHERE side = 1);
  DELETE FROM perdure.move;
  DELETE FROM perdure.transit;
  DELETE FROM perdure.arriving;
  DELETE FROM perdure.arrived_segment;
  UPDATE perdure.session SET status = 'paused', wake_at = NULL, wait_reason = p_reason
    WHERE status IN ('active', 'waiting');
END $$;

-- The cluster and its timeline. A promoted standby is on a new timeline, and so is a cluster that
-- was restored to a point in time; only that one was told where to stop. Another cluster
-- altogether holds a restored dump.
CREATE FUNCTION perdure.this_server() RETURNS text
LANGUAGE sql AS $$
  SELECT system_identifier || ':' || substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8)
  FROM pg_control_system()
$$;

CREATE FUNCTION perdure.recognise_server() RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  v_here text := perdure.this_server();
  v_known text;
BEGIN
  IF EXISTS (SELECT FROM perdure.meta WHERE key = 'server' AND value = v_here) THEN RETURN; END IF;
  SELECT value INTO v_known FROM perdure.meta WHERE key = 'server' FOR UPDATE;
  IF v_known = v_here THEN RETURN; END IF;
  IF split_part(v_known, ':', 1) <> split_part(v_here, ':', 1) THEN
    PERFORM perdure.begin_anew('restored into another database cluster');
  ELSIF concat(current_setting('recovery_target'), current_setting('recovery_target_time'),
               current_setting('recovery_target_xid'), current_setting('recovery_target_lsn'),
               current_setting('recovery_target_name')) <> '' THEN
    PERFORM perdure.begin_anew('restored from a backup to a point in time');
  END IF;
  UPDATE perdure.meta SET value = v_here WHERE key = 'server';
END $$;

-- What a role needs that runs agents but changes no tables.
CREATE FUNCTION perdure.grant_to(p_role text) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  v_schema text;
BEGIN
  SELECT relnamespace::regnamespace::text INTO v_schema FROM pg_class
    WHERE oid = 'perdure.meta'::regclass;
  EXECUTE format('GRANT USAGE ON SCHEMA %s TO %I', v_schema, p_role);
  EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA %s TO %I', v_schema,
                 p_role);
  EXECUTE format('GRANT USAGE, SELECT, UPDATE ON ALL SEQUENCES IN SCHEMA %s TO %I', v_schema, p_role);
  EXECUTE format('GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA %s TO %I', v_schema, p_role);
END $$;
