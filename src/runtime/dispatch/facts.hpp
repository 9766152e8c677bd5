// Gathers what decide.hpp decides by: from the log, the ledger and the policy. Decides nothing.

#pragma once

#include <optional>
#include <string>

#include "dispatch/calls.hpp"
#include "dispatch/decide.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/runtime/calls.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/store.hpp"
#include "writer/session_writer.hpp"

namespace perdure::dispatch {

/// Where the facts about a session's calls come from.
struct FactSource {
  Store& store;
  const SessionId& session;
  const State& state;
  const Policy& policy;
};
[[nodiscard]] FactSource facts_of(const SessionWriter& writer);

/// Policy::permit; without one every call is allowed. Fails: `unavailable` if it throws.
[[nodiscard]] Result<PermitDecision> ask_policy(const Policy& policy, const State& state,
                                                const ProposedCall& call);

/// All facts about a call but what this process knows of its attempts (maker, verdict, what is left of
/// it): those are as of one whose owner has ended.
/// Fails: as the store's readers.
[[nodiscard]] Result<CallFacts> read_facts(const FactSource& source, const CallView& call);

/// What claims say of the call, for the person who decides; empty: there are none.
[[nodiscard]] Result<std::optional<std::string>> find_claimed(Store& store, const Call& call);
/// What the claim that is named there says came of it.
[[nodiscard]] Result<std::optional<Recorded>> claimed_result(Store& store, const Call& call);

/// What the model gets of a call that is replayed.
/// Fails: as Log::read.
[[nodiscard]] Result<Told> replayed(Store& store, const Call& holder);

}  // namespace perdure::dispatch
