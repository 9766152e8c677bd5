// The checks before a call, as the runtime asks for them: for Agent::start, and for Foresight.

#pragma once

#include "perdure/agent/agent.hpp"
#include "perdure/runtime/policy.hpp"

namespace perdure {

/// The spec must outlive it.
[[nodiscard]] Policy make_policy(const AgentSpec& spec);

}  // namespace perdure
