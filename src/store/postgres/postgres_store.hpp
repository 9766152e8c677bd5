// A store in a schema of a PostgreSQL database.

#pragma once

#include <memory>
#include <string>

#include "perdure/core/error.hpp"
#include "perdure/store/open.hpp"
#include "perdure/store/store.hpp"

namespace perdure::postgres {

/// Fails: as open_store says.
[[nodiscard]] Result<std::unique_ptr<Store>> open_postgres(const std::string& location,
                                                           const OpenOptions& options);

}  // namespace perdure::postgres
