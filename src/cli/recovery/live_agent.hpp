// An agent that this process runs: begun, or resumed with the session that it is of; and one turn of it from
// its input to its last line.
//
// Programs of agents are on record while they run (ExecSpec::state_folder). Beside a store that is a file,
// so that the next process on this machine finds them, with any home and as any user; for a store on a
// server in the state folder, one folder for each incarnation.

#pragma once

#include "agent/api/agent_file.hpp"
#include "context/agent_source.hpp"
#include "context/command_context.hpp"
#include "perdure/agent/agent.hpp"
#include "recovery/turn_watch.hpp"

namespace perdure::cli {

/// What belongs to this machine alone: $XDG_STATE_HOME/perdure.
[[nodiscard]] std::string state_folder(const ProcessIo& io);
/// Makes it, for its owner alone whatever the umask says, also if it was there with other rights.
/// Fails: `unavailable` about "authority" if it is another user's.
[[nodiscard]] Result<void> make_state_folder(const ProcessIo& io);

/// What a list of sessions shows of the words that one began with.
[[nodiscard]] std::string opening_of(const std::string& prompt);

/// Its programs keep what they leave running on record in the state folder.
/// Fails: about "authority" if its key is not there; as make_agent_spec; as Agent::start.
[[nodiscard]] Result<std::unique_ptr<Agent>> start_agent(CommandContext& context, Store& store,
                                                         const AgentFile& file);

/// One turn, watched in the form that was asked for. A session whose agent has answered is ended as
/// `completed`, if `ends`.
[[nodiscard]] TurnOutcome play_turn(CommandContext& context, Store& store, AgentSession& agent,
                                    std::optional<Message> input, bool ends);

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
