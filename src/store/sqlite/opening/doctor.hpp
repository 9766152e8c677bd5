// What the promises of a store file rest on.

#pragma once

#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/store/store.hpp"
#include "perdure/store/upkeep.hpp"
#include "sqlite/engine/roles.hpp"

namespace perdure::sqlite {

[[nodiscard]] Result<std::vector<Remark>> examine(Access access, const StoreInfo& info);

}  // namespace perdure::sqlite
