// Whether a row is what a query asks for, in plain C++, so that no backend has to
// put a user's words into its own query language.

#pragma once

#include <optional>
#include <string>

#include "perdure/core/time.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"

namespace perdure::rules {

/// Everything in the query but sort, limit and cursor.
[[nodiscard]] bool matches(const SessionQuery& query, const SessionSummary& session);
/// The last text, byte by byte, that an id with this prefix can be: with the prefix itself, the
/// range that an index has to be read for.
[[nodiscard]] std::string last_id_with(const std::string& prefix);
[[nodiscard]] bool matches(const CheckpointQuery& query, const Checkpoint& checkpoint);

/// Since when a worker should take the session up; empty if none should.
[[nodiscard]] std::optional<Timestamp> due_since(const SessionSummary& session, Timestamp now);

}  // namespace perdure::rules
