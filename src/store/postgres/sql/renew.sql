-- Brings the functions and views of a store to those of this build, within the migration's
-- transaction. Each is replaced where it is, and keeps its grants: who calls it meanwhile calls
-- the old one or the new one. One that takes or returns something else than before cannot be
-- replaced, and the old one goes. Functions by other names stay.

DO $renew$
DECLARE
  v_meta pg_class := (SELECT c FROM pg_class c WHERE c.oid = 'perdure.meta'::regclass);
  v_old oid[];
  v_outdated oid[] := '{}';
  v_one oid;
  v_role text;
  d record;
BEGIN
  FOR d IN SELECT * FROM (VALUES /*definitions*/) AS ours (name, definition) LOOP
    v_old := ARRAY(SELECT oid FROM pg_proc
                   WHERE pronamespace = v_meta.relnamespace AND proname = d.name);
    BEGIN
      EXECUTE d.definition;
    EXCEPTION
      WHEN invalid_function_definition THEN
        FOREACH v_one IN ARRAY v_old LOOP
          EXECUTE 'DROP FUNCTION ' || v_one::regprocedure;
        END LOOP;
        EXECUTE d.definition;
      WHEN invalid_table_definition THEN
        EXECUTE format('DROP VIEW perdure.%I', d.name);
        EXECUTE d.definition;
    END;
    IF EXISTS (SELECT FROM pg_proc WHERE pronamespace = v_meta.relnamespace
               AND proname = d.name AND oid <> ALL (v_old)) THEN
      v_outdated := v_outdated || v_old;
    END IF;
  END LOOP;
  -- Only now: the views used them until they were replaced.
  FOR v_one IN SELECT oid FROM pg_proc WHERE oid = ANY (v_outdated) LOOP
    EXECUTE 'DROP FUNCTION ' || v_one::regprocedure;
  END LOOP;
  -- Those who were granted what runs agents get what is new of it.
  FOR v_role IN SELECT pg_get_userbyid(grantee) FROM aclexplode(v_meta.relacl)
                WHERE privilege_type = 'DELETE' AND grantee NOT IN (0, v_meta.relowner) LOOP
    PERFORM perdure.grant_to(v_role);
  END LOOP;
END $renew$;
