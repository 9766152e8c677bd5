// Sessions that only go together.

#pragma once

#include <vector>

#include "perdure/core/id.hpp"
#include "perdure/store/store.hpp"

namespace perdure::copy {

/// These, and whoever is said to be missing, until nobody is. What else keeps them from going is told
/// by whoever lets them go.
[[nodiscard]] std::vector<SessionId> with_relatives(Store& store, std::vector<SessionId> sessions);

}  // namespace perdure::copy
