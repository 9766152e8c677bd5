// The checks before a call, as the runtime asks for them: for Agent::start, and for a dry run of a
// resume.

#pragma once

#include "perdure/agent/agent.hpp"
#include "perdure/agent/permissions.hpp"
#include "perdure/agent/tools.hpp"
#include "perdure/runtime/calls.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"

namespace perdure {

/// What the runtime may do for the agent by itself, and which calls it permits. The spec must outlive it.
[[nodiscard]] Policy policy_of(const AgentSpec& spec);

/// The one permission of a call, as Policy::permit gives it: what check_call says, and a call that may
/// lack its end, because the response ran into its limit of tokens, is denied. The words of a denial
/// are JSON for the model.
[[nodiscard]] PermitDecision permit_call(const Toolbox& tools, const Permissions& permissions,
                                         const State& state, const ProposedCall& proposed);

}  // namespace perdure
