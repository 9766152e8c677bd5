// What the promises of a store rest on at its server.

#pragma once

#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/store/upkeep.hpp"
#include "postgres/operations/roles.hpp"

namespace perdure::postgres {

[[nodiscard]] Result<std::vector<Remark>> examine(const Access& access);

}  // namespace perdure::postgres
