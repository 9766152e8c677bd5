// An agent that this process runs: started, or resumed with the session that it is of; and one turn
// of it from its input to its last line.
//
// Programs of agents are on record while they run (ExecSpec::state_folder). Beside a store that is a file,
// so that the next process on this machine finds them, with any home and as any user; for a store on a
// server in the state folder, one folder for each incarnation.

#pragma once

#include "agent/api/agent_file.hpp"
#include "context/agent_source.hpp"
#include "context/command_context.hpp"
#include "perdure/agent/agent.hpp"
#include "runtime/api/session.hpp"

namespace perdure::cli {

// A turn as a person watches it: the model's words as they come, on stdout if that is a terminal, and
// a line for each step on stderr: number, what it was, effect class, state, how long it took. While a
// tool runs, a terminal also shows its last line of progress. A turn as a program follows it: one JSON
// object a line, `perdure.run_event/1`. And how it ended: an exit code, a last line with the next command,
// a document.

/// Watches a turn in the form that was asked for. All must outlive what is returned.
[[nodiscard]] std::unique_ptr<AgentObserver> watch_turn(CommandContext& context, Store& store,
                                                        const Session& session);

/// Writes one event of `--jsonl`, and at once.
void write_event(CommandContext& context, std::string_view name, Json::Object members);

struct TurnOutcome {
  TurnReport report{};
  std::optional<Error> error{};  ///< Instead of a report.
  int signal = 0;                ///< That stopped it; 0: none did.
  /// What the turn spent, and what it may have paid beyond that.
  std::int64_t spent_micros = 0;
  std::int64_t unconfirmed_micros = 0;
  /// What only a person can settle, of a turn that was stopped.
  std::vector<PlannedCall> in_doubt{};
};

/// On stderr; the answer on stdout, where it was not streamed.
void tell_end(CommandContext& context, const TurnOutcome& end, const Session& session);

/// The same without the next command: for those who offer something nearer.
void tell_stop(CommandContext& context, const TurnOutcome& end, const Session& session);

/// Whether a call waits until a person allows it, or answers what it asks.
[[nodiscard]] bool waits_for_a_word(const TurnOutcome& end);

/// Tells how it ended, in the form that was asked for; `rest` are further members of the document.
[[nodiscard]] Exit close_turn(CommandContext& context, const Session& session,
                              const TurnOutcome& end, Json::Object rest);

/// "2 turns, 4 steps, 1,204 tokens, $0.0033".
[[nodiscard]] std::string totals_text(const State& state);

// The agent, and a turn of it.

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
/// Fails: `not_found` if nothing says which; about "agent_imported" if only a bundle does.
[[nodiscard]] Result<AgentSource> source_for(CommandContext& context, const SessionSummary& row);

struct ResumedSession {
  std::unique_ptr<Agent> agent;  ///< Outlives the session.
  ResumedAgent resumed;
  Duration took{0};
};

/// Options --wait, --accept-changes. If the agent has changed, a person at a terminal is asked.
/// Fails: as load_agent, start_agent and Agent::resume; about "agent_changed" if it is declined.
[[nodiscard]] Result<ResumedSession> resume_session(CommandContext& context, Store& store,
                                                    const SessionSummary& row);

// What people and documents learn about a recovery: what was found, what runs again, what is in
// doubt; before it is done, and after.

/// A dry run: which calls would run again, whether the model is asked again, what of the agent has
/// changed, and what keeps the session from continuing. Takes no lease, writes nothing.
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
