// The views of a store: read by people, never by the store itself. They are made anew
// whenever the format changes.

#include <string>

#include "sqlite/connection.hpp"
#include "sqlite/schema.hpp"

namespace perdure::sqlite {
namespace {

// For a person with the plain sqlite3 shell: the log in words, and the three tables
// of the book's chapter 21, each checkpoint as of its version. Only a body that the
// store itself labelled as JSON (TEXT) is shown as JSON: SQLite's versions differ in
// what else they take for JSON, and in how deep it may be.
constexpr const char* views = R"sql(
CREATE VIEW sessions AS
SELECT id AS session_id,
       strftime('%Y-%m-%dT%H:%M:%fZ', created_at / 1000.0, 'unixepoch') AS created_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', updated_at / 1000.0, 'unixepoch') AS updated_at,
       status
FROM session;

CREATE VIEW entries AS
SELECT s.id AS session_id,
       e.id & 0xFFFFFFFF AS position,
       e.channel,
       e.kind,
       strftime('%Y-%m-%dT%H:%M:%fZ', e.at / 1000.0, 'unixepoch') AS created_at,
       e.body
FROM entry e JOIN segment g ON g.num = e.id >> 32
             JOIN session s ON s.num = g.session;

CREATE VIEW checkpoints AS
SELECT s.id AS session_id,
       c.version,
       strftime('%Y-%m-%dT%H:%M:%fZ', c.at / 1000.0, 'unixepoch') AS created_at,
       (WITH RECURSIVE line(segment, upto) AS (
          SELECT c.segment, c.position
          UNION ALL
          SELECT g.parent, g.parent_position
          FROM line JOIN segment g ON g.num = line.segment WHERE g.parent < g.num),
        said(position, fold, body) AS (
          SELECT e.id & 0xFFFFFFFF, e.fold, e.body
          FROM line JOIN entry e ON e.id > (line.segment << 32)
                                AND e.id <= ((line.segment << 32) | line.upto)
          WHERE e.channel = 'transcript')
        SELECT json_group_array(CASE WHEN typeof(body) = 'text' AND json_valid(body)
                                     THEN json(body) ELSE CAST(body AS TEXT) END)
        FROM (SELECT body FROM said
              WHERE position >= coalesce((SELECT max(position) FROM said WHERE fold = 1), 0)
              ORDER BY position)) AS transcript_json,
       (WITH RECURSIVE line(segment, upto) AS (
          SELECT c.segment, c.position
          UNION ALL
          SELECT g.parent, g.parent_position
          FROM line JOIN segment g ON g.num = line.segment WHERE g.parent < g.num)
        SELECT e.body
        FROM line JOIN entry e ON e.id > (line.segment << 32)
                              AND e.id <= ((line.segment << 32) | line.upto)
        WHERE e.channel = 'plan' AND e.fold = 1
        ORDER BY e.id & 0xFFFFFFFF DESC LIMIT 1) AS plan_json,
       c.cost_micros / 1e6 AS budget_spent_usd
FROM checkpoint c JOIN session s ON s.num = c.session;

-- Arguments and results stand in the log, alone or as a block of a message.
CREATE VIEW tool_calls AS
WITH whole AS (
  SELECT s.id AS session_id, c.*,
         (WITH RECURSIVE line(segment, upto) AS (
            SELECT c.segment, c.args
            UNION ALL
            SELECT g.parent, min(line.upto, g.parent_position)
            FROM line JOIN segment g ON g.num = line.segment WHERE g.parent < g.num)
          SELECT e.body FROM line JOIN entry e ON e.id = ((line.segment << 32) | c.args)
          WHERE line.upto >= c.args) AS args_body,
         (SELECT e.body FROM segment g JOIN entry e ON e.id = ((g.num << 32) | c.result)
          WHERE g.session = c.session) AS result_body
  FROM call c JOIN session s ON s.num = c.session)
SELECT session_id,
       CASE provider_id WHEN '' THEN CAST(position AS TEXT) ELSE provider_id END AS call_id,
       tool AS tool_name,
       coalesce((SELECT json_extract(b.value, '$.args')
                 FROM json_each(CASE WHEN typeof(args_body) = 'text' AND json_valid(args_body)
                                     THEN args_body ELSE '{}' END,
                                '$.blocks') b
                 WHERE CASE b.type WHEN 'object'
                       THEN json_extract(b.value, '$.kind') = 'tool_call'
                        AND json_extract(b.value, '$.id') = provider_id END), args_body) AS args_json,
       lower(hex(key)) AS idempotency_key,
       CASE WHEN state IN ('intended', 'dispatched', 'in_doubt') THEN 'issued'
            WHEN state = 'succeeded' THEN 'completed'
            ELSE 'failed' END AS status,
       coalesce((SELECT json_extract(b.value, '$.content')
                 FROM json_each(CASE WHEN typeof(result_body) = 'text' AND json_valid(result_body)
                                     THEN result_body ELSE '{}' END,
                                '$.blocks') b
                 WHERE CASE b.type WHEN 'object'
                       THEN json_extract(b.value, '$.kind') = 'tool_result'
                        AND json_extract(b.value, '$.call_id') = provider_id END), result_body) AS result_text,
       strftime('%Y-%m-%dT%H:%M:%fZ', coalesce(dispatched_at, intended_at) / 1000.0, 'unixepoch')
         AS started_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', settled_at / 1000.0, 'unixepoch') AS completed_at
FROM whole;
)sql";

}  // namespace

void make_views(Connection& connection) {
  for (const char* view : {"sessions", "entries", "checkpoints", "tool_calls"}) {
    connection.execute(std::string("DROP VIEW IF EXISTS ") + view);
  }
  connection.execute(views);
}

}  // namespace perdure::sqlite
