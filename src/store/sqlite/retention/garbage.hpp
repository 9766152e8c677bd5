// Removing a session: at once for its readers, in slices for its rows.

#pragma once

#include <cstdint>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/store/upkeep.hpp"
#include "sqlite/engine/connection.hpp"
#include "sqlite/engine/slices.hpp"

namespace perdure::sqlite {

// What is left of a removed session, and goes in slices.

/// Sessions that are removed and not cleared, by number.
[[nodiscard]] std::vector<std::int64_t> list_garbage(Connection& db);

/// Clears these, and the removed sessions that existed only for their sake. What forks
/// still need stays, trimmed to what they can see.
[[nodiscard]] Result<Freed> clear_garbage(Slices& slices, std::vector<std::int64_t> sessions);

}  // namespace perdure::sqlite
