// A store in a schema of a PostgreSQL database.

#pragma once

#include <memory>
#include <string>

#include "perdure/core/error.hpp"
#include "perdure/store/store.hpp"
#include "postgres/upkeep/schema.hpp"

namespace perdure::postgres {

/// `steps`: to formats that this build does not know, in tests. Fails: as open_store says.
[[nodiscard]] Result<std::unique_ptr<Store>> open_postgres(const std::string& location,
                                                           const OpenOptions& options,
                                                           FormatSteps steps = own_steps);

}  // namespace perdure::postgres
