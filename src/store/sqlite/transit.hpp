// Facts out of an SQLite store and into one (transfer.hpp), each inside the caller's transaction.

#pragma once

#include <string>
#include <vector>

#include "perdure/core/error.hpp"
#include "sqlite/engine/connection.hpp"
#include "sqlite/engine/workers.hpp"
#include "store/api/transfer.hpp"

namespace perdure::sqlite {

[[nodiscard]] FactSlice read_facts(Connection& db, const Workers& workers, const FactSource& source,
                                   const FactCursor& from);

/// Takes in facts that come from `source`.
/// Fails: as `Transfer::take` says.
[[nodiscard]] Result<void> take_facts(Connection& db, const std::string& source,
                                      const std::vector<Fact>& facts);

/// Makes sessions of what was taken in.
void land(Connection& db, const std::string& source);

}  // namespace perdure::sqlite
