// The grammar of RFC 8259, section 6, and doubles by std::from_chars, which is
// exact and knows no locale.
//
// Doubles as text: as ECMAScript prints them.

#include "json_number.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace perdure {

namespace {

bool is_digit(const char* p, const char* end) { return p != end && *p >= '0' && *p <= '9'; }

const char* skip_digits(const char* p, const char* end) {
  while (is_digit(p, end)) ++p;
  return p;
}

// Tells the two ends of the range apart, since from_chars does not: by the place
// of the first digit that counts, relative to the decimal point. Called only for
// tokens that are hundreds of places away from it.
bool is_huge(std::string_view token) {
  const std::size_t exponent_at = token.find_first_of("eE");
  std::string_view digits = token.substr(0, exponent_at);
  if (digits.starts_with('-')) digits.remove_prefix(1);
  const std::size_t first = digits.find_first_of("123456789");
  if (first == std::string_view::npos) return false;
  const std::size_t point = std::min(digits.find('.'), digits.size());
  const auto place = static_cast<std::int64_t>(point) - static_cast<std::int64_t>(first);
  if (exponent_at == std::string_view::npos) return place > 0;

  std::string_view exponent = token.substr(exponent_at + 1);
  if (exponent.starts_with('+')) exponent.remove_prefix(1);
  std::int64_t shift = 0;
  const auto read = std::from_chars(exponent.data(), exponent.data() + exponent.size(), shift);
  // An exponent that does not fit 64 bits outweighs any number of digits.
  if (read.ec != std::errc{}) return !exponent.starts_with('-');
  return shift > -place;
}

}  // namespace

NumberScan scan_number(const char* p, const char* end) {
  if (p != end && *p == '-') ++p;
  if (!is_digit(p, end)) return {.end = p, .expected = "a digit"};
  p = *p == '0' ? p + 1 : skip_digits(p, end);
  if (p != end && *p == '.') {
    ++p;
    if (!is_digit(p, end)) return {.end = p, .expected = "a digit after the decimal point"};
    p = skip_digits(p, end);
  }
  if (p != end && (*p == 'e' || *p == 'E')) {
    ++p;
    if (p != end && (*p == '+' || *p == '-')) ++p;
    if (!is_digit(p, end)) return {.end = p, .expected = "a digit of the exponent"};
    p = skip_digits(p, end);
  }
  return {.end = p, .expected = nullptr};
}

bool is_integer_token(std::string_view token) {
  return token.find_first_of(".eE") == std::string_view::npos;
}

std::optional<double> nearest_double(std::string_view token) {
  double value = 0;
  const auto read = std::from_chars(token.data(), token.data() + token.size(), value);
  if (read.ec == std::errc{}) return value;
  if (is_huge(token)) return std::nullopt;
  return token.starts_with('-') ? -0.0 : 0.0;
}

namespace {

// std::to_chars finds the digits (the fewest that read back as the same double,
// the closest of those); ECMA-262 says where point, zeros and exponent go.
struct Decimal {
  bool is_negative = false;
  std::string digits;  // The value is 0.digits times ten to the power of `point`.
  int point = 0;
};

Decimal shortest_decimal(double value) {
  std::array<char, 32> buffer{};
  const auto written = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                     std::chars_format::scientific);
  std::string_view text(buffer.data(), written.ptr);
  Decimal decimal;
  if (text.starts_with('-')) {
    decimal.is_negative = true;
    text.remove_prefix(1);
  }
  const std::size_t e = text.find('e');
  decimal.digits = text[0];
  if (e > 2) decimal.digits += text.substr(2, e - 2);
  const std::size_t exponent_at = text[e + 1] == '+' ? e + 2 : e + 1;
  std::from_chars(text.data() + exponent_at, text.data() + text.size(), decimal.point);
  decimal.point += 1;
  return decimal;
}

std::string zeros(int count) { return std::string(static_cast<std::size_t>(count), '0'); }

std::string layout(const std::string& digits, int point) {
  const int count = static_cast<int>(digits.size());
  if (count <= point && point <= 21) return digits + zeros(point - count);
  if (0 < point && point <= 21) {
    const auto whole = static_cast<std::size_t>(point);
    return digits.substr(0, whole) + "." + digits.substr(whole);
  }
  if (-6 < point && point <= 0) return "0." + zeros(-point) + digits;
  const std::string fraction = count == 1 ? "" : "." + digits.substr(1);
  return fmt::format("{}{}e{:+}", digits[0], fraction, point - 1);
}

}  // namespace

std::string es6_number(double value) {
  if (value == 0) return "0";  // Also minus zero.
  const Decimal decimal = shortest_decimal(value);
  return (decimal.is_negative ? "-" : "") + layout(decimal.digits, decimal.point);
}

}  // namespace perdure
