// What a query asks for: whether a row is it, and where a page of sessions ended.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "perdure/core/error.hpp"
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

// Where a page of sessions ended: opaque text that only the same query accepts.

/// The last session of a page, by what the query sorts by.
struct Mark {
  std::variant<std::int64_t, std::string> key;  ///< Text for SessionSort::title, else a number.
  std::string id;

  bool operator==(const Mark&) const = default;
};

[[nodiscard]] Mark mark_of(const SessionSummary& session, SessionSort sort);
[[nodiscard]] std::string to_cursor(const SessionQuery& query, const Mark& mark);
/// Fails: `invalid_argument` unless the text came from `to_cursor` with a query
/// that differs at most in limit and cursor.
[[nodiscard]] Result<Mark> from_cursor(const SessionQuery& query);

}  // namespace perdure::rules
