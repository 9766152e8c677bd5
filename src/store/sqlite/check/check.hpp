// Checking a store in one SQLite file.

#pragma once

#include <optional>

#include "perdure/core/time.hpp"
#include "perdure/store/upkeep.hpp"
#include "sqlite/engine/roles.hpp"

namespace perdure::sqlite {

/// `wal_lost_at`: when the opening of this store found that the WAL lacks commits.
[[nodiscard]] Result<CheckReport> check_store(Access access,
                                              const std::optional<Timestamp>& wal_lost_at,
                                              const Progress& progress);

}  // namespace perdure::sqlite
