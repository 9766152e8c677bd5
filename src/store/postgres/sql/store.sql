-- What the store as a whole does: its writes, its identity, its server.

-- The server's time in milliseconds since 1970. The planner puts it where it is called.
CREATE FUNCTION perdure.clock_ms() RETURNS bigint
LANGUAGE sql VOLATILE AS $$ SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint $$;

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

-- The same answer as once: nothing that was committed since was lost. `life` is emptied by a server
-- that has crashed, and is empty on a standby that is promoted; one that is stopped properly keeps it.
-- Nothing is said where tables cannot be unlogged, as in some engines that speak PostgreSQL's
-- protocol.
CREATE FUNCTION perdure.loss_token() RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
  v_life text;
BEGIN
  IF EXISTS (SELECT FROM pg_class WHERE oid = 'perdure.life'::regclass AND relpersistence <> 'u') THEN
    RETURN '';
  END IF;
  SELECT token INTO v_life FROM perdure.life;
  IF NOT FOUND THEN
    INSERT INTO perdure.life (token) VALUES (gen_random_uuid()::text) ON CONFLICT DO NOTHING;
    SELECT token INTO v_life FROM perdure.life;
  END IF;
  RETURN (SELECT value FROM perdure.meta WHERE key = 'incarnation') || ' ' || v_life;
END $$;

-- Which store this is, by where it is: the cluster, its timeline, the database, the table `meta`.
-- A dump that is restored makes new tables, wherever that is; a server that left its recovery is on
-- a new timeline.
CREATE FUNCTION perdure.this_server() RETURNS text
LANGUAGE sql AS $$
  SELECT concat_ws(':', system_identifier,
                   substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8),
                   (SELECT oid FROM pg_database WHERE datname = current_database()),
                   'perdure.meta'::regclass::oid)
  FROM pg_control_system()
$$;

-- This store came out of a backup: what the original did since is not known. Fences jump further
-- than any number of take-overs, so that who compares them outside sees this one as later.
-- For a copy that is not recognised by itself (of the files of a stopped server, say), call it by
-- hand.
CREATE FUNCTION perdure.begin_anew(p_reason text) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  PERFORM perdure.begin_write(true);
  UPDATE perdure.meta SET value = 'sto_' || replace(gen_random_uuid()::text, '-', '')
    WHERE key = 'incarnation';
  UPDATE perdure.meta SET value = perdure.this_server() WHERE key = 'server';
  DELETE FROM perdure.worker;
  UPDATE perdure.resource SET worker = NULL, fence = fence + 4294967296;
  UPDATE perdure.session SET owner = NULL, owned_since = NULL, fence = fence + 4294967296,
    revision = revision + 1, restored = status IN ('active', 'waiting', 'paused');
  UPDATE perdure.arriving SET fence = fence + 4294967296, revision = revision + 1,
    restored = status IN ('active', 'waiting', 'paused');
  -- Decisions were posted to the store of before, which may have acted on them.
  UPDATE perdure.message SET kind = 'void_' || kind
    WHERE NOT consumed AND kind IN ('approve', 'resolve', 'ended_worker');
  -- What arrived as a whole may be marked in its source, and is nowhere else then: only that store
  -- can tell, when the move is repeated. The rest is deleted, and so is what came out of a bundle,
  -- which no source marks. 11: behind all kinds of facts.
  UPDATE perdure.session SET moved = NULL WHERE moved LIKE 'moving %';
  DELETE FROM perdure.move WHERE side = 1 AND (cursor NOT LIKE '11 %' OR peer = 'bundle');
  DELETE FROM perdure.claim WHERE holder IN (
    SELECT t.owner FROM perdure.transit t
    WHERE t.peer NOT IN (SELECT m.peer FROM perdure.move m WHERE m.side = 1));
  DELETE FROM perdure.transit t
    WHERE t.peer NOT IN (SELECT m.peer FROM perdure.move m WHERE m.side = 1);
  DELETE FROM perdure.arriving r WHERE r.num NOT IN (SELECT t.owner FROM perdure.transit t);
  DELETE FROM perdure.arrived_segment a
    WHERE a.peer NOT IN (SELECT m.peer FROM perdure.move m WHERE m.side = 1);
  UPDATE perdure.session SET status = 'paused', wake_at = NULL, wait_reason = p_reason
    WHERE status IN ('active', 'waiting');
  UPDATE perdure.arriving SET status = 'paused', wake_at = NULL, wait_reason = p_reason
    WHERE status IN ('active', 'waiting');
END $$;

-- Why the store that was at `p_known` and is at `p_here` must start afresh; null: it may continue.
-- A standby that was promoted may: it streamed from its primary, and knows that until it is
-- restarted. A server that got its log from an archive, or had a recovery target, is behind.
CREATE FUNCTION perdure.find_restore(p_known text, p_here text) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
  v_known text[] := string_to_array(p_known, ':');
  v_here text[] := string_to_array(p_here, ':');
BEGIN
  IF v_known[1] <> v_here[1] THEN
    RETURN 'restored into another database cluster';
  ELSIF v_known[3:4] <> v_here[3:4] AND cardinality(v_known) = 4 THEN
    RETURN 'restored from a dump';
  ELSIF v_known[2] = v_here[2] THEN
    RETURN NULL;
  ELSIF concat(current_setting('recovery_target'), current_setting('recovery_target_time'),
               current_setting('recovery_target_xid'), current_setting('recovery_target_lsn'),
               current_setting('recovery_target_name')) <> '' THEN
    RETURN 'restored from a backup to a point in time';
  ELSIF pg_last_wal_receive_lsn() IS NULL THEN
    RETURN 'restored from a backup and its archived log';
  END IF;
  RETURN NULL;
END $$;

CREATE FUNCTION perdure.recognise_server() RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  v_here text := perdure.this_server();
  v_known text;
  v_restored text;
BEGIN
  IF EXISTS (SELECT FROM perdure.meta WHERE key = 'server' AND value = v_here) THEN RETURN; END IF;
  SELECT value INTO v_known FROM perdure.meta WHERE key = 'server' FOR UPDATE;
  IF v_known = v_here THEN RETURN; END IF;
  v_restored := perdure.find_restore(v_known, v_here);
  IF v_restored IS NOT NULL THEN PERFORM perdure.begin_anew(v_restored); END IF;
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
