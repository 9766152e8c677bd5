// Writing a backup, where a new file may be made, and what makes a store of a copy.

#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/upkeep.hpp"
#include "sqlite/engine/connection.hpp"
#include "sqlite/engine/roles.hpp"

namespace perdure::sqlite {

/// Whether a store that is put there can be opened: no file has its name, and no other store left a
/// log beside it, which SQLite would take for its own.
/// Fails: `already_exists`.
[[nodiscard]] Result<void> check_new_place(const std::string& path);

/// As Upkeep::backup.
[[nodiscard]] Result<void> write_backup(const Access& access, const std::string& path,
                                        const Progress& progress);

/// Inside the caller's transaction: if the file says that it is a backup, it becomes a
/// store of its own (upkeep.hpp says how).
void restore_if_backup(Connection& db, IdSource& ids);

/// Inside the caller's transaction: the file went back in time, because the WAL lost commits; that
/// was found at this time. It becomes a store of its own, as a backup does, and says what
/// happened as long as it lives.
void restore_after_loss(Connection& db, IdSource& ids, Timestamp found_at);

/// When a loss was found, if one was.
[[nodiscard]] std::optional<Timestamp> find_loss(Connection& db);

/// A new incarnation, no workers, higher fences; unfinished sessions are paused for
/// that reason and need attention.
void begin_anew(Connection& db, IdSource& ids, std::string_view reason);

}  // namespace perdure::sqlite
