// A session that is resumed: which agent it is of, and whether that may go on.

#pragma once

#include <memory>

#include "context/agent_source.hpp"
#include "context/command_context.hpp"
#include "perdure/agent/agent.hpp"
#include "perdure/agent/agent_file.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"

namespace perdure::cli {

/// By --agent, or else by what the session remembers; --model, --provider and --base-url win. What it
/// remembered in a bundle counts under --accept-agent only.
/// Fails: `not_found` if nobody says which; about "agent_imported" if nobody but a bundle does.
[[nodiscard]] Result<AgentSource> source_for(CommandContext& context, const SessionSummary& row);

struct ResumedSession {
  std::unique_ptr<Agent> agent;  ///< Outlives the session.
  ResumedAgent resumed;
  Duration took{0};
};

/// Options --wait, --accept-changes. If the agent has changed, a person at a terminal is asked.
/// Fails: as load_agent, start_agent and Agent::resume; about "agent_changed" if nobody accepts it.
[[nodiscard]] Result<ResumedSession> resume_session(CommandContext& context, Store& store,
                                                    const SessionSummary& row);

}  // namespace perdure::cli
