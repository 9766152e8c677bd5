// A turn as a person watches it: the model's words as they come, on stdout if that is a terminal, and
// a line for each step on stderr: number, what it was, effect class, state, how long it took. While a
// tool runs, a terminal also shows its last line of progress. A turn as a program follows it: one JSON
// object a line, `perdure.run_event/1`. And how it ended: an exit code, a last line with the next command,
// a document.

#pragma once

#include "context/command_context.hpp"
#include "perdure/agent/agent.hpp"
#include "runtime/api/session.hpp"

namespace perdure::cli {

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
  /// What only somebody can settle, of a turn that was stopped.
  std::vector<PlannedCall> in_doubt{};
};

/// On stderr; the answer on stdout, where it was not streamed.
void tell_end(CommandContext& context, const TurnOutcome& end, const Session& session);

/// The same without the next command: for those who offer something nearer.
void tell_stop(CommandContext& context, const TurnOutcome& end, const Session& session);

/// Whether a call waits until somebody allows it, or answers what it asks.
[[nodiscard]] bool waits_for_a_word(const TurnOutcome& end);

/// Tells how it ended, in the form that was asked for; `rest` are further members of the document.
[[nodiscard]] Exit close_turn(CommandContext& context, const Session& session,
                              const TurnOutcome& end, Json::Object rest);

/// "2 turns, 4 steps, 1,204 tokens, $0.0033".
[[nodiscard]] std::string totals_text(const State& state);

}  // namespace perdure::cli
