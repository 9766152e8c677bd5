// The SQL that makes a store, from sql/*.sql, with `perdure` for the schema.

#pragma once

#include <string_view>

namespace perdure::postgres {

/// The tables and types of the first format. `/*by session*/` stands where a table can be partitioned.
[[nodiscard]] std::string_view tables_script();

/// The functions and views of the format this build writes. Each begins with CREATE at the start of a
/// line, and no two have the same name.
[[nodiscard]] std::string_view functions_script();

/// Replaces those of an earlier build. `/*definitions*/` stands for the new ones.
[[nodiscard]] std::string_view renewal_script();

/// Of the program that these belong to.
[[nodiscard]] std::string_view program_version();

}  // namespace perdure::postgres
