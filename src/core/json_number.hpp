// JSON number tokens: their grammar, the double nearest to one, and a double as its text.

#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace perdure {

struct NumberScan {
  /// After the number; where it went wrong if it is none.
  const char* end;
  /// What was expected at `end`, or null if all of it is a number.
  const char* expected;
};

/// Reads the longest number token that begins at `p`.
[[nodiscard]] NumberScan scan_number(const char* p, const char* end);

/// Whether the token has neither a fraction nor an exponent.
[[nodiscard]] bool is_integer_token(std::string_view token);

/// The nearest double of a valid token; nothing if it is too large for any, zero if too small.
[[nodiscard]] std::optional<double> nearest_double(std::string_view token);

/// As ECMAScript prints it (Number::toString): what RFC 8785 asks for. `value` must be finite.
[[nodiscard]] std::string es6_number(double value);

}  // namespace perdure
