// A worker that ended while it held a session, as long as anybody remembers.
//
// Once another worker has the session, the store no longer says who had it before. A successor that
// dies in its turn would leave a third process that cannot know whether the first one still runs.
// So the successor leaves a note in the inbox before it takes the session: whoever gets it moves
// the note into the log, where it says of each attempt of that worker that it has ended.

#pragma once

#include <string_view>

#include "perdure/core/error.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "session/draft.hpp"
#include "session/held_session.hpp"

namespace perdure {

/// The kind of such a note; its body is the worker's id, as JSON.
inline constexpr std::string_view ended_worker_kind = "ended_worker";

/// Leaves a note if the session's holder is known to have ended, and may have left calls. A second
/// note about the same worker changes nothing.
/// Fails: as Ledger::list and Inbox::post.
[[nodiscard]] Result<void> note_ended_worker(Store& store, const SessionSummary& row);

/// Writes what the note means. Reads can be run again anyway: nothing is written about them.
/// Fails: as the ledger's readers.
[[nodiscard]] Result<void> add_ended_worker(HeldSession& held, Draft& draft, std::string_view note);

}  // namespace perdure
