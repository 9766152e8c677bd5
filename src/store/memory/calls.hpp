// The ledger's part of a commit.

#pragma once

#include <optional>
#include <vector>

#include "memory/state.hpp"
#include "memory/undo.hpp"
#include "perdure/core/error.hpp"
#include "perdure/store/ledger.hpp"

namespace perdure::memory {

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

}  // namespace perdure::memory
