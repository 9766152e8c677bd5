// The tables and functions of a store: whether they are there, and making them.

#pragma once

#include <string>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "postgres/client/client.hpp"
#include "postgres/upkeep/migration.hpp"

namespace perdure::postgres {

struct Opened {
  std::string incarnation{};
  std::string engine{};  ///< "PostgreSQL 15.8".
};

/// Makes sure that the schema holds a store of this build's format with functions that it can call
/// (migration.hpp). Makes it if `create`, and makes or migrates it if the address allows it: in one
/// transaction, by one starter at a time.
/// Fails: `not_found` if there is none; `unsupported` for a newer format, one that was never released,
/// or an older one or other functions that may not be migrated; `corrupted` if the schema holds
/// something else; `unavailable`, also without the right to make it.
[[nodiscard]] Result<Opened> open_schema(Client& client, bool create, IdSource& ids,
                                         FormatSteps steps);

}  // namespace perdure::postgres
