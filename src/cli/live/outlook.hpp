// What a resume would do, told without doing it.

#pragma once

#include "desk.hpp"
#include "exit.hpp"
#include "perdure/core/error.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"

namespace perdure::cli {

/// Which calls would run again, whether the model is asked again, what of the agent has changed, and
/// what keeps the session from going on. Takes no lease, writes nothing.
/// Fails: as read_state, as Ledger::list.
[[nodiscard]] Result<Exit> tell_outlook(Desk& desk, Store& store, const SessionSummary& row);

}  // namespace perdure::cli
