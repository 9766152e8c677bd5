// Giving space back, as far as PostgreSQL does so while others go on.

#pragma once

#include <string_view>

#include "perdure/core/error.hpp"
#include "postgres/client/client.hpp"

namespace perdure::postgres {

/// Makes the space of deleted and replaced rows usable again, and cuts off what is free at the end
/// of the table's file. Not an error: the server does not let us (only a table's owner may), is at
/// it already, or ends it by a timeout of its own; then its autovacuum does the same in its time.
[[nodiscard]] Result<void> vacuum_table(Client& client, std::string_view table);

}  // namespace perdure::postgres
