// Division needs no big numbers: digits end in no zero, so what is a multiple of b × 10^n
// has at least that power of ten in its exponent, and the rest is a remainder modulo b.

#include "tools/schema/decimal.hpp"

#include <algorithm>
#include <charconv>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace perdure::schema {
namespace {

constexpr std::int64_t exponent_max = 1'000'000'000'000'000;

__extension__ using Wide = unsigned __int128;

std::uint64_t times(std::uint64_t a, std::uint64_t b, std::uint64_t modulus) {
  return static_cast<std::uint64_t>(Wide{a} * b % modulus);
}

std::uint64_t power_of_ten(std::int64_t exponent, std::uint64_t modulus) {
  std::uint64_t power = 1 % modulus;
  std::uint64_t base = 10 % modulus;
  for (; exponent > 0; exponent /= 2) {
    if (exponent % 2 == 1) power = times(power, base, modulus);
    base = times(base, base, modulus);
  }
  return power;
}

std::uint64_t remainder_of(std::string_view digits, std::uint64_t modulus) {
  std::uint64_t rest = 0;
  for (const char digit : digits) {
    rest = (times(rest, 10, modulus) + static_cast<std::uint64_t>(digit - '0')) % modulus;
  }
  return rest;
}

std::int64_t exponent_of(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  std::int64_t exponent = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), exponent);
  if (read.ec != std::errc()) return text.starts_with('-') ? -exponent_max : exponent_max;
  return std::clamp(exponent, -exponent_max, exponent_max);
}

std::strong_ordering reversed(std::strong_ordering order, bool is_reversed) {
  return is_reversed ? 0 <=> order : order;
}

}  // namespace

Decimal Decimal::from_token(std::string_view token) {
  Decimal decimal;
  decimal.is_negative_ = token.starts_with('-');
  if (decimal.is_negative_) token.remove_prefix(1);
  const std::size_t mark = token.find_first_of("eE");
  if (mark != std::string_view::npos) decimal.exponent_ = exponent_of(token.substr(mark + 1));
  const std::string_view mantissa = token.substr(0, mark);
  const std::size_t point = mantissa.find('.');
  decimal.digits_ = mantissa.substr(0, point);
  if (point != std::string_view::npos) {
    const std::string_view fraction = mantissa.substr(point + 1);
    decimal.digits_ += fraction;
    decimal.exponent_ -= static_cast<std::int64_t>(fraction.size());
  }
  decimal.digits_.erase(0, decimal.digits_.find_first_not_of('0'));
  if (decimal.digits_.empty()) return {};
  const std::size_t used = decimal.digits_.find_last_not_of('0') + 1;
  decimal.exponent_ += static_cast<std::int64_t>(decimal.digits_.size() - used);
  decimal.digits_.resize(used);
  return decimal;
}

std::optional<std::uint64_t> Decimal::as_count() const {
  if (digits_.empty()) return 0;
  const bool fits = !is_negative_ && exponent_ >= 0 && exponent_ < 19;
  if (!fits) return std::nullopt;
  const std::string all = digits_ + std::string(static_cast<std::size_t>(exponent_), '0');
  std::int64_t count = 0;
  const auto read = std::from_chars(all.data(), all.data() + all.size(), count);
  if (read.ec != std::errc()) return std::nullopt;
  return static_cast<std::uint64_t>(count);
}

bool Decimal::is_multiple_of(const Decimal& divisor) const {
  if (digits_.empty()) return true;
  if (exponent_ < divisor.exponent_) return false;
  std::uint64_t modulus = 0;
  const std::string& of = divisor.digits_;
  std::from_chars(of.data(), of.data() + of.size(), modulus);
  return times(remainder_of(digits_, modulus), power_of_ten(exponent_ - divisor.exponent_, modulus),
               modulus) == 0;
}

std::string Decimal::text() const {
  if (digits_.empty()) return "0";
  return (is_negative_ ? "-" : "") + digits_ + "e" + std::to_string(exponent_);
}

std::string Decimal::plain() const {
  const auto size = static_cast<std::int64_t>(digits_.size());
  constexpr std::int64_t zeros_max = 20;
  if (digits_.empty() || exponent_ > zeros_max || exponent_ < -size - zeros_max) return text();
  std::string plain = digits_;
  if (exponent_ >= 0) {
    plain.append(static_cast<std::size_t>(exponent_), '0');
  } else if (size + exponent_ > 0) {
    plain.insert(static_cast<std::size_t>(size + exponent_), 1, '.');
  } else {
    plain.insert(0, "0." + std::string(static_cast<std::size_t>(-exponent_ - size), '0'));
  }
  return (is_negative_ ? "-" : "") + plain;
}

std::strong_ordering Decimal::operator<=>(const Decimal& other) const {
  const auto sign = [](const Decimal& d) {
    return d.digits_.empty() ? 0 : d.is_negative_ ? -1 : 1;
  };
  if (sign(*this) != sign(other)) return sign(*this) <=> sign(other);
  const auto magnitude = [](const Decimal& d) {
    return static_cast<std::int64_t>(d.digits_.size()) + d.exponent_;
  };
  if (magnitude(*this) != magnitude(other)) {
    return reversed(magnitude(*this) <=> magnitude(other), is_negative_);
  }
  return reversed(digits_.compare(other.digits_) <=> 0, is_negative_);
}

}  // namespace perdure::schema
