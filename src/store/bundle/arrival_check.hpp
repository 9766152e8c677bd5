// Whether sessions that arrived follow from their own log: by the check of a session that every backend
// shares (rules/session_check.hpp), over facts.

#pragma once

#include <functional>

#include "perdure/core/error.hpp"
#include "perdure/store/store.hpp"
#include "store/api/transfer.hpp"

namespace perdure::bundle {

/// Reads what was taken in, and not yet let in. Whoever made the bundle may have computed every sum
/// anew: totals, versions, heads and ledger are compared with the entries themselves. False if
/// `go_on` said to stop.
/// Fails: `corrupted`, with the first contradiction.
[[nodiscard]] Result<bool> check_arrival(Store& store, const Arrival& arrival,
                                         const std::function<bool()>& go_on);

}  // namespace perdure::bundle
