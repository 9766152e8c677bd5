// The checks before a call, as the runtime asks for them: for Agent::start, and for a dry run of a
// resume.

#pragma once

#include <cstddef>
#include <string>

#include "perdure/agent/agent.hpp"
#include "perdure/agent/tools.hpp"
#include "perdure/core/error.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/log.hpp"

namespace perdure {

/// What the runtime may do for the agent by itself, and which calls it permits. The spec must
/// outlive it.
[[nodiscard]] Policy policy_of(const AgentSpec& spec);

/// The third of so many is refused.
inline constexpr std::size_t identical_calls_max = 3;

/// How many calls with the same name and the same arguments, as values, end with block `block` of
/// the message at `message`: from the transcript, so that it is the same after a resume. Counts
/// to identical_calls_max, and from the last message of a user on.
[[nodiscard]] std::size_t times_in_a_row(const State& state, Position message, std::size_t block);

/// The one permission of a call, as Policy::permit gives it: what check_call says, and a call that
/// may lack its end, because the response ran into its limit of tokens, is denied. The words of a
/// denial are JSON for the model.
[[nodiscard]] PermitDecision permit_call(const Toolbox& tools, const Permissions& permissions,
                                         const State& state, const ProposedCall& proposed);

/// Whether its model had no price: the cost of a response is unknown.
[[nodiscard]] bool has_unknown_cost(const Message& response);

}  // namespace perdure
