// The SQL that makes a store, from sql/*.sql, with `perdure` for the schema.

#pragma once

#include <string_view>

namespace perdure::postgres {

/// The tables of format 1. `/*by session*/` stands where a table can be partitioned.
[[nodiscard]] std::string_view tables_script();

/// The functions of the format this build writes; all of them are replaced together.
[[nodiscard]] std::string_view functions_script();

}  // namespace perdure::postgres
