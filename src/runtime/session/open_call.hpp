// The calls of a held session that somebody may decide or ask about.

#pragma once

#include "dispatch/view.hpp"
#include "perdure/core/error.hpp"
#include "perdure/store/log.hpp"
#include "session/held_session.hpp"
#include "session/parts.hpp"

namespace perdure {

/// Fails: `not_found` if no such call is open.
[[nodiscard]] Result<dispatch::CallView> find_open(HeldSession& held, Position call);

/// Fails: as find_open; `conflict` if it is not in doubt, or its attempt still runs.
[[nodiscard]] Result<dispatch::CallView> find_in_doubt(SessionParts& parts, Position call);

}  // namespace perdure
