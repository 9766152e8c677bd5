// A format after this build's, of a build that is yet to come: by it the tests prove that stores are
// migrated. Its step reads what is there, and fails where it was done before.

#pragma once

#include <array>

#include "store/postgres/upkeep/schema.hpp"
#include "store/sqlite/engine/connection.hpp"
#include "store/sqlite/engine/schema.hpp"

namespace perdure {

inline void add_future_to_sqlite(sqlite::Connection& connection) {
  connection.execute(
      "CREATE TABLE future (session INTEGER PRIMARY KEY, id TEXT NOT NULL);"
      "INSERT INTO future SELECT num, id FROM session");
}

inline constexpr std::array<sqlite::FormatStep, 1> next_sqlite_steps = {add_future_to_sqlite};

inline constexpr std::array<postgres::FormatStep, 1> next_postgres_steps = {
    "CREATE TABLE perdure.future (session bigint PRIMARY KEY, id text NOT NULL);\n"
    "INSERT INTO perdure.future SELECT num, id FROM perdure.session;\n"};

// A step of this build's own comes before it.
static_assert(sqlite::own_steps.empty() && postgres::own_steps.empty());

}  // namespace perdure
