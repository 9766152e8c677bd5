// What a resume would do, told without doing it.

#pragma once

#include "context/command_context.hpp"

namespace perdure::cli {

/// Which calls would run again, whether the model is asked again, what of the agent has changed, and
/// what keeps the session from going on. Takes no lease, writes nothing.
/// Fails: as read_state, as Ledger::list.
[[nodiscard]] Result<Exit> tell_outlook(CommandContext& context, Store& store,
                                        const SessionSummary& row);

}  // namespace perdure::cli
