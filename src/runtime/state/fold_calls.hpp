// The part of the fold that is about calls: from an intent to the result that ends it.

#pragma once

#include "perdure/runtime/conversation.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/log.hpp"
#include "state/skip.hpp"

namespace perdure::folding {

/// An entry of channel `calls`.
[[nodiscard]] Skip fold_calls(State& state, const Entry& entry);

/// What a message's results say of calls that are open.
void settle_calls(State& state, const Message& message);

}  // namespace perdure::folding
