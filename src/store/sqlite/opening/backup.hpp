// Writing a backup, and where a new file may be made.

#pragma once

#include <string>

#include "perdure/core/error.hpp"
#include "perdure/store/upkeep.hpp"
#include "sqlite/engine/roles.hpp"

namespace perdure::sqlite {

// Where a new store is to be: a backup, or what was salvaged.

/// Whether a store that is put there can be opened: no file has its name, and no other store left a
/// log beside it, which SQLite would take for its own.
/// Fails: `already_exists`.
[[nodiscard]] Result<void> check_new_place(const std::string& path);

/// As Upkeep::backup.
[[nodiscard]] Result<void> write_backup(const Access& access, const std::string& path,
                                        const Progress& progress);

}  // namespace perdure::sqlite
