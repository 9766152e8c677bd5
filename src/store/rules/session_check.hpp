// One session's rows against its own log.

#pragma once

#include <vector>

#include "perdure/core/id.hpp"
#include "rules/check_run.hpp"
#include "rules/history.hpp"
#include "rules/stored_session.hpp"

namespace perdure::rules {

/// Everything that follows from the session's commits and entries. `segments` are its own, by
/// number.
void check_history(CheckRun& run, StoredSession& rows, const StoredSummary& session,
                   const std::vector<Part>& segments);

/// One message of its inbox, by itself.
void check_message(CheckRun& run, StoredSession& rows, const SessionId& session,
                   const StoredMessage& message);

}  // namespace perdure::rules
