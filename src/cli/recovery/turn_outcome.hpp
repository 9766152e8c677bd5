// How a turn ended, told: an exit code, a last line for people with the next command, a document.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "context/command_context.hpp"
#include "perdure/agent/agent.hpp"
#include "perdure/core/id.hpp"
#include "perdure/runtime/calls.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/session.hpp"
#include "perdure/runtime/state.hpp"

namespace perdure::cli {

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

[[nodiscard]] Exit exit_of(const TurnOutcome& end, const Session& session);

/// What somebody may do now; empty: nothing has to be done.
[[nodiscard]] std::string next_command(CommandContext& context, const TurnOutcome& end,
                                       const Session& session);

/// On stderr; the answer on stdout, where it was not streamed.
void tell_end(CommandContext& context, const TurnOutcome& end, const Session& session);

/// The same without the next command: for those who offer something nearer.
void tell_stop(CommandContext& context, const TurnOutcome& end, const Session& session);

/// Whether a call waits until somebody allows it, or answers what it asks.
[[nodiscard]] bool waits_for_a_word(const TurnOutcome& end);

/// The members of `perdure.run/1`.
[[nodiscard]] Json::Object end_document(CommandContext& context, const TurnOutcome& end,
                                        const Session& session);

[[nodiscard]] Json as_json(const SessionId& session, const Waiting& waiting);

/// "2 turns, 4 steps, 1,204 tokens, $0.0033".
[[nodiscard]] std::string totals_text(const State& state);

}  // namespace perdure::cli
