// The tables of a store file: their format number, how they come to be, and the
// views that show a person what is in them.

#pragma once

#include <cstdint>
#include <string>

#include "perdure/core/error.hpp"
#include "perdure/core/id_source.hpp"
#include "sqlite/connection.hpp"

namespace perdure::sqlite {

/// What this build writes. An older file is migrated, a newer one refused.
inline constexpr std::int64_t format_number = 1;

/// Makes or migrates the tables, inside the caller's transaction.
/// Fails: `unsupported` for a newer format; `corrupted` if the file belongs to another program.
[[nodiscard]] Result<void> prepare_schema(Connection& connection, IdSource& ids);

[[nodiscard]] bool is_empty(Connection& connection);
/// What cannot be changed once a file has pages: their size, and the bookkeeping that lets a
/// vacuum go step by step.
void set_file_layout(Connection& connection);

/// The id given to the store when it was made.
[[nodiscard]] std::string read_incarnation(Connection& connection);

}  // namespace perdure::sqlite
