// The one way to write to a session of a memory store.

#pragma once

#include "memory/state.hpp"
#include "perdure/core/error.hpp"
#include "perdure/store/commit.hpp"

namespace perdure::memory {

/// Applies a batch that `rules::check` has passed, entirely or not at all.
/// Fails: as `Store::commit` says.
[[nodiscard]] Result<Receipt> commit(State& state, const Lease& lease, const Batch& batch,
                                     Timestamp now);

}  // namespace perdure::memory
