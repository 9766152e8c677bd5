// Sets of characters that patterns have names for, in the words of PCRE2.

#pragma once

#include <string>
#include <string_view>

namespace perdure::schema {

[[nodiscard]] constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
[[nodiscard]] constexpr bool is_word(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/// What ECMAScript takes for white space, and for none, as the inside of a class.
inline constexpr std::string_view spaces =
    R"(\x{9}-\x{d}\x{20}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff})";
inline constexpr std::string_view no_spaces =
    R"(\x{0}-\x{8}\x{e}-\x{1f}\x{21}-\x{9f}\x{a1}-\x{167f}\x{1681}-\x{1fff}\x{200b}-\x{2027}\x{202a}-\x{202e}\x{2030}-\x{205e}\x{2060}-\x{2fff}\x{3001}-\x{fefe}\x{ff00}-\x{10ffff})";

/// Of `\p{name}` (sign 'p') or `\P{name}`: a general category by its short name or a long one, or
/// `Script=…`. Empty for any other.
[[nodiscard]] std::string property_set(char sign, std::string_view name);

}  // namespace perdure::schema
