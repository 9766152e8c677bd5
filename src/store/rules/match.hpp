// Whether a row is what a query asks for, in plain C++, so that no backend has to
// put a user's words into its own query language.

#pragma once

#include <string>

#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"

namespace perdure::rules {

/// Everything in the query but sort, limit and cursor.
[[nodiscard]] bool matches(const SessionQuery& query, const Session& session);
[[nodiscard]] bool matches(const CheckpointQuery& query, const Checkpoint& checkpoint);

}  // namespace perdure::rules
