// Whether a session may go on under an agent that has changed since.

#pragma once

#include <string>
#include <vector>

#include "perdure/agent/agent.hpp"
#include "perdure/core/error.hpp"
#include "perdure/runtime/state.hpp"

namespace perdure::loop {

/// The parts that changed, and may have; empty: it is the same agent, or nobody can tell.
/// Fails: as Agent::resume, if they may not.
[[nodiscard]] Result<std::vector<std::string>> agreed_changes(const AgentSpec& spec,
                                                              const Origin& origin,
                                                              const ResumeOptions& options);

}  // namespace perdure::loop
