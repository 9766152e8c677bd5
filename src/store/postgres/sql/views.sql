-- For a person with psql: the log in words, and the three tables of the book's chapter 21, each
-- checkpoint as of its version. Never read by the store itself.

CREATE FUNCTION perdure.shown_time(p_at bigint) RETURNS text
LANGUAGE sql STABLE AS $$
  SELECT to_char(to_timestamp(p_at / 1000.0) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
$$;

-- A member of the block of a message that has this kind and this id; null if there is none, also
-- where a body is JSON to us and not to this server.
CREATE FUNCTION perdure.block_member(p_body text, p_kind text, p_id_name text, p_id text,
                                     p_member text) RETURNS text
LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN (SELECT b ->> p_member FROM json_array_elements(p_body::json -> 'blocks') b
          WHERE b ->> 'kind' = p_kind AND b ->> p_id_name = p_id LIMIT 1);
EXCEPTION WHEN OTHERS THEN
  RETURN NULL;
END $$;

CREATE VIEW perdure.sessions AS
SELECT id AS session_id, perdure.shown_time(created_at) AS created_at,
       perdure.shown_time(updated_at) AS updated_at, status
FROM perdure.session;

CREATE VIEW perdure.entries AS
SELECT s.id AS session_id, e.position, e.channel, e.kind, perdure.shown_time(e.at) AS created_at,
       coalesce(e.body, encode(e.bytes, 'escape')) AS body
FROM perdure.entry e JOIN perdure.session s ON s.num = e.session;

CREATE VIEW perdure.checkpoints AS
SELECT s.id AS session_id, c.version, perdure.shown_time(c.at) AS created_at,
       (SELECT '[' || coalesce(string_agg(coalesce(
                 CASE WHEN e.codec = 0 THEN e.body
                      ELSE to_json(coalesce(e.body, encode(e.bytes, 'escape')))::text END, 'null'),
                 ',' ORDER BY e.position), '') || ']'
        FROM perdure.line(c.segment, c.position) l
             JOIN perdure.entry e ON e.session = l.session AND e.segment = l.segment
                                 AND e.position <= l.last
        WHERE e.channel = 'transcript' AND e.position >= coalesce(
          (SELECT max(v.position) FROM perdure.line(c.segment, c.position) m
                  JOIN perdure.entry v ON v.session = m.session AND v.segment = m.segment
                                      AND v.position <= m.last
           WHERE v.channel = 'transcript' AND v.fold = 1), 0)) AS transcript_json,
       (SELECT e.body FROM perdure.line(c.segment, c.position) l
               JOIN perdure.entry e ON e.session = l.session AND e.segment = l.segment
                                   AND e.position <= l.last
        WHERE e.channel = 'plan' AND e.fold = 1 ORDER BY e.position DESC LIMIT 1) AS plan_json,
       c.cost_micros / 1e6::float8 AS budget_spent_usd
FROM perdure.checkpoint c JOIN perdure.session s ON s.num = c.session;

-- Arguments and results are in the log, alone or as a block of a message.
CREATE VIEW perdure.tool_calls AS
SELECT session_id,
       CASE provider_id WHEN '' THEN position::text ELSE provider_id END AS call_id,
       tool AS tool_name,
       coalesce(perdure.block_member(args_body, 'tool_call', 'id', provider_id, 'args'), args_body)
         AS args_json,
       encode(key, 'hex') AS idempotency_key,
       CASE WHEN state IN ('intended', 'dispatched', 'in_doubt') THEN 'issued'
            WHEN state = 'succeeded' THEN 'completed'
            ELSE 'failed' END AS status,
       coalesce(perdure.block_member(result_body, 'tool_result', 'call_id', provider_id, 'content'),
                result_body) AS result_text,
       perdure.shown_time(coalesce(dispatched_at, intended_at)) AS started_at,
       perdure.shown_time(settled_at) AS completed_at
FROM (SELECT s.id AS session_id, c.position, c.tool, encode(c.provider_id, 'escape') AS provider_id,
             c.key, c.state, c.intended_at, c.dispatched_at, c.settled_at,
             (SELECT coalesce(e.body, encode(e.bytes, 'escape'))
              FROM perdure.line(c.segment, c.args) l
                   JOIN perdure.entry e ON e.session = l.session AND e.segment = l.segment
              WHERE e.position = c.args AND c.args <= l.last) AS args_body,
             (SELECT coalesce(e.body, encode(e.bytes, 'escape')) FROM perdure.entry e
              WHERE e.session = c.session AND e.position = c.result) AS result_body
      FROM perdure.call c JOIN perdure.session s ON s.num = c.session) whole;
