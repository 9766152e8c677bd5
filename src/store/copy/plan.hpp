// Which sessions move: those that are named, and their relatives.

#pragma once

#include <vector>

#include "perdure/core/id.hpp"
#include "perdure/store/store.hpp"

namespace perdure::copy {

/// These, and the relatives that the store says are missing, until none is. What else keeps them from
/// moving is for the caller to find out.
[[nodiscard]] std::vector<SessionId> with_relatives(Store& store, std::vector<SessionId> sessions);

}  // namespace perdure::copy
