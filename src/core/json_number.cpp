// The grammar of RFC 8259, section 6, and doubles by std::from_chars, which is
// exact and knows no locale.

#include "json_number.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>

namespace perdure {

namespace {

bool is_digit(const char* p, const char* end) { return p != end && *p >= '0' && *p <= '9'; }

const char* skip_digits(const char* p, const char* end) {
  while (is_digit(p, end)) ++p;
  return p;
}

// Tells the two ends of the range apart, since from_chars does not: where the
// first digit that counts stands, relative to the decimal point. Called only for
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

}  // namespace perdure
