// The checks before a call, as the runtime asks for them.

#pragma once

#include "perdure/agent/agent.hpp"
#include "perdure/runtime/policy.hpp"

namespace perdure::loop {

/// The spec must outlive it.
[[nodiscard]] Policy make_policy(const AgentSpec& spec);

}  // namespace perdure::loop
