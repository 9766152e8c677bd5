// What makes a store out of a backup.

#pragma once

#include <optional>
#include <string_view>

#include "perdure/core/id.hpp"
#include "perdure/core/time.hpp"
#include "sqlite/engine/connection.hpp"

namespace perdure::sqlite {

/// Says in a copy of a store that it is one, taken at that time.
void mark_as_backup(Connection& db, Timestamp at);

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
