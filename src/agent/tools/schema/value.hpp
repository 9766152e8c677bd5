// A JSON number as a schema compares it: exact as an integer of 64 bits with a sign, and as the
// nearest double where it is written with a fraction or an exponent, or is larger.

#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>

#include "perdure/core/json.hpp"

namespace perdure::schema {

class Number {
 public:
  /// `json` must be a number. Beyond every double it is infinite.
  explicit Number(const Json& json);

  /// 1, 1.0 and 1e2 are.
  [[nodiscard]] bool is_integer() const { return is_integer_; }
  /// Nothing if it is not an integer from 0 on; INT64_MAX for any beyond.
  [[nodiscard]] std::optional<std::uint64_t> as_count() const;

  /// Whether `divisor` can be one for is_multiple_of: above zero and finite.
  [[nodiscard]] bool is_divisor() const;
  /// Exact for two integers. Otherwise the quotient may miss an integer by the rounding of the
  /// doubles, 2^-51 of itself: 0.3 is a multiple of 0.1. From 2^50 on it misses none.
  [[nodiscard]] bool is_multiple_of(const Number& divisor) const;

  [[nodiscard]] std::partial_ordering operator<=>(const Number& other) const;

 private:
  std::optional<std::int64_t> whole_{};
  bool is_integer_ = false;
  double value_ = 0;
};

// One text for all JSON that is equal as JSON Schema sees it: 1 is 1.0, the order of members
// does not count, the last of two members of one name does. Integers keep all their digits; what
// has a fraction or an exponent is the nearest double.

[[nodiscard]] std::string value_text(const Json& value);

/// As a person is shown it, cut if it is long.
[[nodiscard]] std::string shown(const Json& value);

/// "a string", "an integer" …
[[nodiscard]] std::string kind_words(const Json& value);

}  // namespace perdure::schema
