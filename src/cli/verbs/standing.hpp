// Whose word about a call stands. Letters are taken in one after the other: one that comes too late is
// moved to the log and does nothing, and whoever wrote it has to hear that.

#pragma once

#include <functional>

#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/store/entry.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/store.hpp"

namespace perdure::cli {

/// Succeeds if the last decision about the call, or word on it, was made by a letter after `since`
/// whose body is ours. Letters of the same words say the same: either is ours.
/// Fails: `conflict`, with what stands instead; as Log::read; as Ledger::read.
[[nodiscard]] Result<void> check_stands(Store& store, const Call& call, Position since,
                                        const std::function<bool(const Json& body)>& is_ours);

}  // namespace perdure::cli
