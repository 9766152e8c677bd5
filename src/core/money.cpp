// Digits are moved, not multiplied: nothing is ever rounded.

#include "perdure/core/money.hpp"

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace perdure {
namespace {

constexpr std::size_t decimals = 6;
constexpr std::size_t dollars_digits_max = 10;

bool is_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

std::optional<std::int64_t> micros_from_dollars(std::string_view text) {
  const std::size_t point = text.find('.');
  const std::string_view whole = text.substr(0, point);
  const bool has_point = point != std::string_view::npos;
  std::string fraction(has_point ? text.substr(point + 1) : std::string_view("0"));
  if (!is_digits(whole) || whole.size() > dollars_digits_max) return std::nullopt;
  if (!is_digits(fraction)) return std::nullopt;
  if (fraction.find_first_not_of('0', decimals) != std::string::npos) return std::nullopt;
  fraction.resize(decimals, '0');
  const std::string digits = std::string(whole) + fraction;
  std::int64_t micros = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), micros);
  return micros;
}

}  // namespace perdure
