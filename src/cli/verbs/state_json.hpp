// A session's state as one JSON value, and JSON as people read it.

#pragma once

#include <string>
#include <string_view>

#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/runtime/state.hpp"

namespace perdure::cli {

[[nodiscard]] Json state_json(const State& state);

/// Indented by two spaces, a member or element a line.
[[nodiscard]] std::string indented(const Json& value, std::size_t depth = 0);

/// What a JSON pointer (RFC 6901) leads to.
/// Fails: `not_found`.
[[nodiscard]] Result<Json> value_at(const Json& value, std::string_view pointer);

}  // namespace perdure::cli
