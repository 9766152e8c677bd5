// What people and documents are told of a recovery: what was found, what runs again, what is in doubt;
// before it is done, and after.

#pragma once

#include "context/command_context.hpp"
#include "recovery/live_agent.hpp"
#include "runtime/api/session.hpp"

namespace perdure::cli {

/// A dry run: which calls would run again, whether the model is asked again, what of the agent has
/// changed, and what keeps the session from going on. Takes no lease, writes nothing.
/// Fails: as read_state, as plan_recovery.
[[nodiscard]] Result<Exit> tell_plan(CommandContext& context, Store& store,
                                     const SessionSummary& row);

/// Three lines on stderr: what was recovered, what runs again, what is in doubt.
void tell_recovery(CommandContext& context, const ResumedSession& taken);

[[nodiscard]] Json recovery_json(const ResumedSession& taken);

/// Whether nothing is done about it until a person decides, or until a time.
[[nodiscard]] bool waits(const PlannedCall& planned);

/// "pay (unsafe), look (read_only)", of those that are chosen; empty: none.
[[nodiscard]] std::string names_of(const std::vector<PlannedCall>& calls,
                                   const std::function<bool(const PlannedCall&)>& chosen);

}  // namespace perdure::cli
