// Facts out of a memory store and into one (transfer.hpp).

#pragma once

#include <set>

#include "memory/state.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/facts.hpp"
#include "perdure/store/transfer.hpp"

namespace perdure::memory {

/// The sessions that are to go, all checked.
/// Fails: as `Transfer::depart` says.
[[nodiscard]] Result<std::set<SessionId>> choose(const State& state, const Destination& to,
                                                 const std::vector<SessionId>& sessions,
                                                 Uptime uptime);

/// The numbers of these sessions, and of removed ones whose segments they share.
[[nodiscard]] std::set<OwnerNumber> owners_of(const State& state,
                                              const std::set<SessionId>& sessions);

[[nodiscard]] FactSlice read_departing(const State& state, const std::set<OwnerNumber>& owners,
                                       const FactCursor& from);
[[nodiscard]] FactSlice read_arriving(const ArrivalRow& move, const FactCursor& from);

/// All of the slice, or nothing.
/// Fails: as `Transfer::take` says.
[[nodiscard]] Result<void> take_in(State& state, ArrivalRow& move, const FactSlice& slice);

/// Makes sessions of what was taken in.
void land(State& state, ArrivalRow& move);

}  // namespace perdure::memory
