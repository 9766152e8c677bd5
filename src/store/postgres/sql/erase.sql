-- Emptying bodies. What is left of them in the server's files is a matter of VACUUM.

-- Which sessions own the entries that the session has at these positions. PD001 if there is none.
-- The session's own number comes first.
CREATE FUNCTION perdure.entry_owners(p_session text, p_positions bigint[])
RETURNS TABLE (o_session bigint, o_owner bigint, o_position bigint)
LANGUAGE plpgsql STABLE AS $$
BEGIN
  o_session := perdure.require_session(p_session);
  FOREACH o_position IN ARRAY p_positions LOOP
    SELECT f.owner INTO o_owner FROM perdure.find_entry(o_session, o_position) f;
    IF o_owner IS NULL OR o_position = 0 THEN
      RAISE EXCEPTION USING ERRCODE = 'PD001',
        MESSAGE = format('session %s has no entry at position %s', p_session, o_position);
    END IF;
    RETURN NEXT;
  END LOOP;
END $$;

-- Empties the first of these; o_done says how many.
CREATE FUNCTION perdure.erase_slice(p_session bigint, p_owners bigint[], p_positions bigint[],
                                    p_bytes bigint, p_was_here boolean, OUT o_done bigint,
                                    OUT o_items bigint, OUT o_bytes bigint)
LANGUAGE plpgsql AS $$
BEGIN
  PERFORM perdure.begin_write(true);
  -- So that a move that has read the bodies does not take them along.
  UPDATE perdure.session s SET revision = s.revision + 1
    WHERE s.num = p_session AND (s.moved IS NULL OR NOT p_was_here);
  IF NOT FOUND AND p_was_here THEN
    RAISE EXCEPTION USING ERRCODE = 'PD003',
      MESSAGE = 'the session was moved or removed meanwhile: erase where it is';
  END IF;
  WITH named AS (
    SELECT n.owner, n.place, n.number,
           CASE WHEN e.codec >= 0 THEN coalesce(octet_length(e.body), octet_length(e.bytes), 0) END
             AS size
    FROM unnest(p_owners, p_positions) WITH ORDINALITY AS n(owner, place, number)
      LEFT JOIN perdure.entry e ON e.session = n.owner AND e.position = n.place
  ), slice AS MATERIALIZED (
    SELECT s.owner, s.place, s.number, s.size FROM (
      SELECT *, sum(coalesce(named.size, 0)) OVER (ORDER BY named.number)
                - coalesce(named.size, 0) AS before FROM named) s
    WHERE s.before < p_bytes
  ), emptied AS (
    UPDATE perdure.entry e SET body = NULL, bytes = NULL, codec = -1 - e.codec FROM slice
      WHERE e.session = slice.owner AND e.position = slice.place AND slice.size IS NOT NULL
      RETURNING slice.size
  )
  SELECT (SELECT max(slice.number) FROM slice), count(*), coalesce(sum(emptied.size), 0)
    INTO o_done, o_items, o_bytes FROM emptied;
END $$;
