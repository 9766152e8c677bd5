// The turns that writers under load commit, and what a session made of them must look
// like. A turn follows from its session and number alone, so that any worker can go on
// from any other's last one, and a reader can tell whether a turn is what it should be.

#pragma once

#include <cstdint>
#include <string>

#include "perdure/store/store.hpp"

namespace perdure {

/// Entries per turn; the first of them is the intent of a call, if there is one.
inline constexpr Position turn_entries = 3;

/// Whether turns make calls; those that make none are plain batches, which a server commits many at
/// a time.
enum class Calls : std::uint8_t { one, none };

[[nodiscard]] Batch turn_batch(const SessionId& session, Version turn, Calls calls = Calls::one);

/// Empty if the session holds exactly the turns 1 … `turns`, else what it holds instead.
[[nodiscard]] std::string find_wrong_turn(Store& store, const SessionId& session, Version turns,
                                          Calls calls = Calls::one);

}  // namespace perdure
