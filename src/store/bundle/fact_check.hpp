// Whether facts from a file are such as a store could have given. Sums tell what was changed by
// accident; whoever makes a file on purpose makes its sums too. What names a thing, and what would
// run into other sessions' numbers, is checked here; whether a session's facts belong together is
// for the hash chain to say.

#pragma once

#include "perdure/core/error.hpp"
#include "store/api/transfer.hpp"

namespace perdure::bundle {

/// Fails: `invalid_argument`, `corrupted`.
[[nodiscard]] Result<void> check(const Fact& fact);

}  // namespace perdure::bundle
