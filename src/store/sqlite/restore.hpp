// What makes a store out of a backup.

#pragma once

#include <string_view>

#include "perdure/core/id_source.hpp"
#include "perdure/core/time.hpp"
#include "sqlite/connection.hpp"

namespace perdure::sqlite {

/// Says in a copy of a store that it is one, taken at that time.
void mark_as_backup(Connection& db, Timestamp at);

/// Inside the caller's transaction: if the file says that it is a backup, it becomes a
/// store of its own (upkeep.hpp says how).
void restore_if_backup(Connection& db, IdSource& ids);

/// A new incarnation, no workers, higher fences; unfinished sessions are paused for
/// that reason and need attention.
void begin_anew(Connection& db, IdSource& ids, std::string_view reason);

}  // namespace perdure::sqlite
