// A session that is taken up again: which agent it is of, whether that may go on, and what is told of
// what an earlier process left.

#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "context/agent_source.hpp"
#include "context/command_context.hpp"
#include "perdure/agent/agent.hpp"
#include "perdure/agent/agent_file.hpp"
#include "recovery/left_open.hpp"

namespace perdure::cli {

/// By --agent, or else by what the session remembers; --model, --provider and --base-url win. What it
/// remembered in a bundle counts under --accept-agent only.
/// Fails: `not_found` if nobody says which; about "agent_imported" if nobody but a bundle does.
[[nodiscard]] Result<AgentSource> source_for(CommandContext& context, const SessionSummary& row);

struct ResumedSession {
  std::unique_ptr<Agent> agent;  ///< Outlives the session.
  ResumedAgent resumed;
  std::vector<LeftCall> left{};
  std::vector<Call> inherited{};  ///< In doubt in the sessions it was forked from.
  Duration took{0};
};

/// Options --wait, --accept-changes. If the agent has changed, a person at a terminal is asked.
/// Fails: as load_agent, start_agent and Agent::resume; about "agent_changed" if nobody accepts it.
[[nodiscard]] Result<ResumedSession> resume_session(CommandContext& context, Store& store,
                                                    const SessionSummary& row);

/// Three lines on stderr: what was recovered, what runs again, what is in doubt.
void tell_recovery(CommandContext& context, const ResumedSession& taken);

[[nodiscard]] Json recovery_json(const ResumedSession& taken);
[[nodiscard]] Json as_json(const LeftCall& left);

/// "pay (unsafe), look (read_only)", of those with that fate; empty: none.
[[nodiscard]] std::string names_of(const std::vector<LeftCall>& left, Fate fate);

}  // namespace perdure::cli
