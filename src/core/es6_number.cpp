// std::to_chars finds the digits (the fewest that read back as the same double,
// the closest of those); ECMA-262 says where point, zeros and exponent go.

#include "es6_number.hpp"

#include <array>
#include <charconv>
#include <cstddef>
#include <fmt/format.h>
#include <string>
#include <string_view>

namespace perdure {

namespace {

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
