// What helps to read and to word a message: cutting text without cutting a character, and the name that
// was meant.

#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace perdure {

/// The longest prefix of at most `bytes_max` bytes that does not end inside a UTF-8 sequence.
[[nodiscard]] inline std::string_view utf8_prefix(std::string_view text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return text;
  std::size_t end = bytes_max;
  // A sequence has at most three continuation bytes; anything longer is not UTF-8.
  for (int back = 0; back < 3 && end > 0; ++back) {
    if ((static_cast<unsigned char>(text[end]) & 0xC0U) != 0x80U) break;
    --end;
  }
  return text.substr(0, end);
}

/// The text without a UTF-8 sequence that is cut off at its end.
[[nodiscard]] inline std::string_view whole_characters(std::string_view text) {
  for (std::size_t back = 1; back <= 3 && back <= text.size(); ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if ((byte & 0xC0U) == 0x80U) continue;
    const std::size_t needs = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1;
    return needs > back ? text.substr(0, text.size() - back) : text;
  }
  return text;
}

/// With the letters A to Z small, for comparing.
[[nodiscard]] std::string lowered(std::string_view text);

/// Without the blanks, tabs and line ends around it.
[[nodiscard]] std::string_view trimmed(std::string_view text);

/// How many letters have to be added, taken out or replaced to make one of the other (Levenshtein).
[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b);

/// The name that takes the fewest changes, if they are at most a third of its letters or one;
/// upper case and `-` for `_` count for nothing.
[[nodiscard]] std::optional<std::string> closest_name(std::string_view meant,
                                                      const std::vector<std::string_view>& known);

}  // namespace perdure
