// What forks share of a session that was removed.
//
// Its receipts went with it, and with them its hash chain: each entry is compared with its own hash,
// and each position that a fork's line needs must be there, or have been pruned.

#pragma once

#include <optional>

#include "perdure/core/id.hpp"
#include "rules/check_run.hpp"
#include "rules/history.hpp"
#include "rules/stored_session.hpp"

namespace perdure::rules {

struct SharedPart {
  Stretch stretch{};  ///< Up to the last position that a fork goes on from.
  std::optional<SessionId>
      heir{};  ///< A session that goes on from it; empty: only removed ones do.
};

/// `rows` are those of the removed session.
void check_shared(CheckRun& run, StoredSession& rows, const SharedPart& part);

}  // namespace perdure::rules
