// Numbers as integers where both are, and as doubles otherwise.

#include "tools/schema/number.hpp"

#include <algorithm>
#include <cmath>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "perdure/core/json.hpp"

namespace perdure::schema {

namespace {

// The digits before the point, if those after it are zeros and no exponent follows: exact, where the
// nearest double may be an integer and the number is not.
std::optional<std::string_view> integer_in(std::string_view token) {
  const std::size_t point = std::min(token.find('.'), token.size());
  if (token.find_first_not_of('0', point + 1) < token.size()) return std::nullopt;
  return token.substr(0, point);
}

}  // namespace

Number::Number(const Json& json) {
  const std::string& token = *json.number_token();
  constexpr double endless = std::numeric_limits<double>::infinity();
  value_ = json.as_double().value_or(token.starts_with('-') ? -endless : endless);
  const bool has_exponent = token.find_first_of("eE") != std::string::npos;
  const auto digits = has_exponent ? std::nullopt : integer_in(token);
  is_integer_ = has_exponent ? std::trunc(value_) == value_ : digits.has_value();
  if (digits) whole_ = Json::number(std::string(*digits))->as_int64();
}

std::optional<std::uint64_t> Number::as_count() const {
  if (!is_integer_ || value_ < 0) return std::nullopt;
  constexpr double beyond = 9223372036854775808.0;  // 2^63
  if (value_ >= beyond) return INT64_MAX;
  return static_cast<std::uint64_t>(whole_.value_or(static_cast<std::int64_t>(value_)));
}

bool Number::is_divisor() const { return value_ > 0 && std::isfinite(value_); }

bool Number::is_multiple_of(const Number& divisor) const {
  if (whole_ && divisor.whole_) return *whole_ % *divisor.whole_ == 0;
  constexpr double rounding = 0x1p-51;
  const double quotient = value_ / divisor.value_;
  const double missed = std::abs(quotient - std::round(quotient));
  // This way round, infinity is a multiple too.
  return !(missed > std::abs(quotient) * rounding);
}

std::partial_ordering Number::operator<=>(const Number& other) const {
  if (whole_ && other.whole_) return *whole_ <=> *other.whole_;
  return value_ <=> other.value_;
}

}  // namespace perdure::schema
