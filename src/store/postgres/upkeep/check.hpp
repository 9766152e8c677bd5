// Checking a store in a PostgreSQL database.

#pragma once

#include "perdure/core/error.hpp"
#include "perdure/store/upkeep.hpp"
#include "postgres/operations/roles.hpp"

namespace perdure::postgres {

[[nodiscard]] Result<CheckReport> check_store(const Access& access, const Progress& progress);

}  // namespace perdure::postgres
