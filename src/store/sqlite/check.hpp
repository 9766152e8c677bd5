// Checking a store in one SQLite file.

#pragma once

#include "perdure/store/upkeep.hpp"
#include "sqlite/roles.hpp"

namespace perdure::sqlite {

[[nodiscard]] Result<CheckReport> check_store(Access access, const Progress& progress);

}  // namespace perdure::sqlite
