// A store as an earlier version would have left it: functions that do something else, take something
// else, return something else, and a view of other columns.

#pragma once

#include <fmt/format.h>
#include <string>

#include "doubles/postgres_cluster.hpp"

namespace perdure {

inline void age_functions(const std::string& schema) {
  const std::string owner = cluster().one(fmt::format(
      "SELECT relowner::regrole FROM pg_class WHERE oid = '{}.meta'::regclass", schema));
  cluster().execute(fmt::format(
      "SET LOCAL ROLE {1};"
      "UPDATE {0}.meta SET value = '0.0.1 of an earlier version' WHERE key = 'functions';"
      "CREATE OR REPLACE FUNCTION {0}.begin_write(p_sync boolean) RETURNS void LANGUAGE plpgsql AS "
      "$$BEGIN RAISE EXCEPTION 'of an earlier version'; END$$;"
      "DROP FUNCTION {0}.set_sync(boolean);"
      "CREATE FUNCTION {0}.set_sync(p_sync text) RETURNS void LANGUAGE sql AS 'SELECT';"
      "DROP FUNCTION {0}.release(text, text, bigint);"
      "CREATE FUNCTION {0}.release(p_session text, p_worker text, p_fence bigint) RETURNS boolean "
      "LANGUAGE sql AS 'SELECT true';"
      "DROP VIEW {0}.entries;"
      "CREATE VIEW {0}.entries AS SELECT 'of an earlier version' AS entry",
      schema, owner));
}

/// All functions and views, in a text that compares equal if they are, whatever the schema.
[[nodiscard]] inline std::string definitions_in(const std::string& schema) {
  return cluster().one(
      fmt::format("SELECT replace(string_agg(text, E'\\n' ORDER BY text), '{0}', 'schema') FROM ("
                  "SELECT pg_get_functiondef(oid) AS text FROM pg_proc WHERE pronamespace = "
                  "'{0}'::regnamespace "
                  "UNION ALL SELECT pg_get_viewdef(oid) FROM pg_class "
                  "WHERE relkind = 'v' AND relnamespace = '{0}'::regnamespace) AS each",
                  schema));
}

}  // namespace perdure
