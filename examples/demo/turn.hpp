// One turn of the demo's session. It follows from its number alone, so that a restarted
// writer can repeat the last one, and the judge knows what each must be.

#pragma once

#include "perdure/store/commit.hpp"

namespace demo {

[[nodiscard]] perdure::SessionId session_id();

/// Two messages, a plan and a checkpoint: the checkpoint's version is the turn's number.
[[nodiscard]] perdure::Batch turn_batch(perdure::Version turn);

/// The bytes of all bodies in it.
[[nodiscard]] std::size_t bytes_of(const perdure::Batch& batch);

}  // namespace demo
