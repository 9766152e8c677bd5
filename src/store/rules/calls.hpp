// The arrows between a call's states (ledger.hpp), apart from any storage.

#pragma once

#include <optional>

#include "perdure/core/error.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/store/ledger.hpp"

namespace perdure::rules {

/// Dispatched, in doubt, succeeded or abandoned.
[[nodiscard]] bool holds_key(CallState state);
/// What a call holds; empty for one that only claims its key.
[[nodiscard]] std::optional<Digest> held_key(const Call& call);

/// A call from a bundle that was not accepted: what was made, and its key, it only claims.
void disown(Call& call);
/// By what stores keep a claim of a removed session: as a key that nothing can have.
[[nodiscard]] Digest claim_key(const Digest& claimed);

/// Of the call of a ClaimFact, which has one of both keys.
[[nodiscard]] Digest key_of_claim(const Call& call);

/// A call as its intent makes it.
[[nodiscard]] Call intended(const SessionId& session, const Intend& intent, Timestamp at);

/// Changes `call` as told. Whether its key is free is the backend's to check.
/// Fails: `conflict` if the state has no such arrow; then `call` is unchanged.
[[nodiscard]] Result<void> dispatch(Call& call, const Dispatch& change, Fence fence, Timestamp at);
[[nodiscard]] Result<void> settle(Call& call, const Settle& change, Timestamp at);

}  // namespace perdure::rules
