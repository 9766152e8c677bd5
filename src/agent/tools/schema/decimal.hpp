// A JSON number as the decimal that it is written as: no rounding anywhere.

#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace perdure::schema {

/// ± digits × 10^exponent. Digits have no zero at either end; zero has none, and no sign.
class Decimal {
 public:
  /// `token` must be a JSON number. Exponents beyond ±10^15 count as that.
  [[nodiscard]] static Decimal from_token(std::string_view token);

  [[nodiscard]] bool is_integer() const { return exponent_ >= 0; }
  [[nodiscard]] bool is_positive() const { return !digits_.empty() && !is_negative_; }
  /// Nothing if it is no integer from 0 to 2^63 - 1.
  [[nodiscard]] std::optional<std::uint64_t> as_count() const;

  /// Whether `divisor` can be one for is_multiple_of: above zero, 18 digits at most.
  [[nodiscard]] bool is_divisor() const { return is_positive() && digits_.size() <= 18; }
  [[nodiscard]] bool is_multiple_of(const Decimal& divisor) const;

  /// The same for equal numbers (1, 1.0, 10e-1), and for no others.
  [[nodiscard]] std::string text() const;
  /// As a person writes it.
  [[nodiscard]] std::string plain() const;

  [[nodiscard]] std::strong_ordering operator<=>(const Decimal& other) const;
  bool operator==(const Decimal&) const = default;

 private:
  bool is_negative_ = false;
  std::string digits_;
  std::int64_t exponent_ = 0;
};

}  // namespace perdure::schema
