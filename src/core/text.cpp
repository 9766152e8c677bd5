// UTF-8: a word of ASCII at a time, the rest by sequences. Then base64, and dollars.

#include "core/api/text.hpp"

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "utf8.hpp"

namespace perdure {

bool is_utf8(std::string_view text) {
  const char* const end = text.data() + text.size();
  // NOLINTNEXTLINE(bugprone-suspicious-stringview-data-usage): `end` bounds it.
  for (const char* p = skip_ascii_words(text.data(), end); p != end;) {
    const std::size_t bytes = utf8_sequence_bytes(p, end);
    if (bytes == 0) return false;
    p += bytes;
    if (bytes == 1) p = skip_ascii_words(p, end);
  }
  return true;
}

std::string_view first_character(std::string_view text) {
  if (text.empty()) return {};
  return text.substr(0, utf8_sequence_bytes(text.data(), text.data() + text.size()));
}

namespace {

constexpr std::string_view alphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::uint8_t no_digit = 0xFF;

constexpr std::array<std::uint8_t, 256> digit_of = [] {
  std::array<std::uint8_t, 256> table{};
  table.fill(no_digit);
  for (std::size_t i = 0; i < alphabet.size(); ++i) {
    table[static_cast<std::uint8_t>(alphabet[i])] = static_cast<std::uint8_t>(i);
  }
  return table;
}();

std::size_t padding_of(std::string_view text) {
  if (text.ends_with("==")) return 2;
  return text.ends_with('=') ? 1 : 0;
}

}  // namespace

std::string to_base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::string_view group = bytes.substr(i, 3);
    std::uint32_t bits = 0;
    for (std::size_t j = 0; j < 3; ++j) {
      bits = bits << 8U | (j < group.size() ? static_cast<std::uint8_t>(group[j]) : 0U);
    }
    for (std::size_t j = 0; j < 4; ++j) {
      text.push_back(j <= group.size() ? alphabet[bits >> (18 - 6 * j) & 63U] : '=');
    }
  }
  return text;
}

std::optional<std::string> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  const std::size_t padding = padding_of(text);
  text.remove_suffix(padding);
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3 + 2);
  std::uint32_t bits = 0;
  unsigned held = 0;
  for (const char c : text) {
    const std::uint8_t digit = digit_of[static_cast<std::uint8_t>(c)];
    if (digit == no_digit) return std::nullopt;
    bits = bits << 6U | digit;
    held += 6;
    if (held < 8) continue;
    held -= 8;
    bytes.push_back(static_cast<char>(bits >> held & 0xFFU));
  }
  // What the padding stands for must be zero, or two texts would mean the same bytes.
  if ((bits & ((1U << held) - 1)) != 0) return std::nullopt;
  return bytes;
}

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
