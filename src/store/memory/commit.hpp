// A commit to a memory store: calls, then all else that a batch has.

#pragma once

#include <optional>
#include <vector>

#include "memory/state.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/store.hpp"

namespace perdure::memory {

// The ledger's part of a commit.

/// What the changes of one commit have in common.
struct CallScope {
  Fence fence = 0;
  Position first = 0;  ///< Where the batch's entries begin.
  Position head = 0;   ///< The new one.
  Timestamp at{};
};

/// The call that holds the key though its session is not here: removed, or still on its way.
[[nodiscard]] std::optional<Call> find_claim(const State& state, const Digest& key);

/// Applies the changes in order; `session.row.attention` follows.
/// Fails: `conflict`, `already_exists`, `invalid_argument` as `Store::commit` says.
[[nodiscard]] Result<void> apply_calls(State& state, Undo& undo, SessionTable& session,
                                       const CallScope& scope,
                                       const std::vector<CallChange>& changes);

/// Applies a batch that `rules::check` has passed, entirely or not at all.
/// Fails: as `Store::commit` says.
[[nodiscard]] Result<Receipt> commit(State& state, const Lease& lease, const Batch& batch,
                                     Timestamp now);

/// As `Store::create`; session and batch have passed `rules::check`.
[[nodiscard]] Result<Created> create(State& state, const NewSession& session,
                                     const WorkerId& worker, const Batch& first,
                                     const Clock& clock);

}  // namespace perdure::memory
