// The one way to write to a session of a memory store.

#pragma once

#include "memory/state.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/commit.hpp"

namespace perdure::memory {

/// Applies a batch that `rules::check` has passed, entirely or not at all.
/// Fails: as `Store::commit` says.
[[nodiscard]] Result<Receipt> commit(State& state, const Lease& lease, const Batch& batch,
                                     Timestamp now);

/// As `Store::create`; session and batch have passed `rules::check`.
[[nodiscard]] Result<Created> create(State& state, const NewSession& session,
                                     const WorkerId& worker, const Batch& first,
                                     const Clock& clock);

}  // namespace perdure::memory
