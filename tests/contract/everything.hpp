// All that can be read from a store, as text: to see that a refused write changed
// nothing, that a reopened store is the same, that two stores are equal.

#pragma once

#include <string>

#include "perdure/store/store.hpp"

namespace perdure {

/// Every session with its entries (those on left lines too), lines, checkpoints,
/// calls and inbox. Receipts, blobs and resources have no list: ask for them by name.
[[nodiscard]] std::string everything(Store& store);

}  // namespace perdure
