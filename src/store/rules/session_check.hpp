// What forks share of a session that was removed.
//
// Its receipts went with it, and with them its hash chain: each entry is compared with its own hash,
// and each position that a fork's line needs must be there, or have been pruned.

#pragma once

#include <optional>
#include <vector>

#include "perdure/core/id.hpp"
#include "rules/check_run.hpp"
#include "rules/stored_session.hpp"

namespace perdure::rules {

struct SharedPart {
  Stretch stretch{};  ///< Up to the last position that a fork goes on from.
  std::optional<SessionId>
      heir{};  ///< A session that goes on from it; empty: only removed ones do.
};

/// `rows` are those of the removed session.
void check_shared(CheckRun& run, StoredSession& rows, const SharedPart& part);

/// Everything that follows from the session's commits and entries. `segments` are its own, by
/// number.
void check_history(CheckRun& run, StoredSession& rows, const StoredSummary& session,
                   const std::vector<Part>& segments);

/// One message of its inbox, by itself.
void check_message(CheckRun& run, StoredSession& rows, const SessionId& session,
                   const StoredMessage& message);

}  // namespace perdure::rules
