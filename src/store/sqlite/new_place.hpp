// Where a new store is to be: a backup, or what was salvaged.

#pragma once

#include <string>

#include "perdure/core/error.hpp"

namespace perdure::sqlite {

/// Whether a store that is put there can be opened: no file has its name, and no other store left a
/// log beside it, which SQLite would take for its own.
/// Fails: `already_exists`.
[[nodiscard]] Result<void> check_new_place(const std::string& path);

}  // namespace perdure::sqlite
