// Where a page of sessions ended: opaque text that only the same query accepts.

#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "perdure/core/error.hpp"
#include "perdure/store/sessions.hpp"

namespace perdure::rules {

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
