// What is left of removed sessions, and goes in slices.

#pragma once

#include <cstdint>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/store/upkeep.hpp"
#include "postgres/operations/roles.hpp"
#include "postgres/upkeep/slices.hpp"

namespace perdure::postgres {

/// Sessions that are removed and not cleared, by number.
[[nodiscard]] Result<std::vector<std::int64_t>> list_garbage(const Access& access);

/// Clears these, and the removed sessions that existed only for their sake. What forks
/// still need stays, trimmed to what they can see.
[[nodiscard]] Result<Freed> clear_garbage(const Access& access, Slices& slices,
                                          std::vector<std::int64_t> sessions);

}  // namespace perdure::postgres
