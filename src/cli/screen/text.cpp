// UTF-8 is decoded strictly: what another decoder might take for a control character is none of ours
// to pass on.

#include "screen/text.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <string>
#include <string_view>

#include "perdure/core/text.hpp"

namespace perdure::cli {
namespace {

struct Glyph {
  char32_t code = 0;
  std::size_t size = 1;
  bool is_valid = false;
};

Glyph decode(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text.front());
  std::size_t size = 1;
  if (lead >= 0xC0U) size = lead >= 0xF0U ? 4 : lead >= 0xE0U ? 3 : 2;
  if (size > text.size() || !is_utf8(text.substr(0, size))) return {.code = lead};
  char32_t code = size == 1 ? lead : lead & (0x7FU >> size);
  for (std::size_t i = 1; i < size; ++i) {
    code = (code << 6U) | (static_cast<unsigned char>(text[i]) & 0x3FU);
  }
  return {.code = code, .size = size, .is_valid = true};
}

bool is_control(char32_t code) { return code < 0x20 || (code >= 0x7F && code < 0xA0); }

// Overrides and isolates turn the order of what follows.
bool turns_text(char32_t code) {
  return (code >= 0x202A && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069) ||
         code == 0x200E || code == 0x200F || code == 0x2028 || code == 0x2029;
}

struct Range {
  char32_t first;
  char32_t last;
};

template <std::size_t count>
bool is_in(const std::array<Range, count>& ranges, char32_t code) {
  for (const Range& range : ranges) {
    if (code >= range.first && code <= range.last) return true;
  }
  return false;
}

std::size_t columns_of(char32_t code) {
  static constexpr std::array<Range, 5> none = {
      {{0x300, 0x36F}, {0x200B, 0x200F}, {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}, {0xFEFF, 0xFEFF}}};
  static constexpr std::array<Range, 10> two = {{{0x1100, 0x115F},
                                                 {0x2E80, 0xA4CF},
                                                 {0xAC00, 0xD7A3},
                                                 {0xF900, 0xFAFF},
                                                 {0xFE30, 0xFE6F},
                                                 {0xFF00, 0xFF60},
                                                 {0xFFE0, 0xFFE6},
                                                 {0x1F300, 0x1F64F},
                                                 {0x1F900, 0x1FAFF},
                                                 {0x20000, 0x3FFFD}}};
  if (is_in(none, code)) return 0;
  return is_in(two, code) ? 2 : 1;
}

}  // namespace

std::string visible(std::string_view text, Lines lines) {
  std::string made;
  made.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const Glyph glyph = decode(text.substr(at));
    const bool is_break = glyph.code == '\n' || glyph.code == '\t';
    if (is_break) {
      made += lines == Lines::many ? static_cast<char>(glyph.code) : ' ';
    } else if (!glyph.is_valid || is_control(glyph.code)) {
      made += fmt::format("\\x{:02x}", static_cast<std::uint32_t>(glyph.code));
    } else if (turns_text(glyph.code)) {
      made += fmt::format("\\u{:04x}", static_cast<std::uint32_t>(glyph.code));
    } else {
      made += text.substr(at, glyph.size);
    }
    at += glyph.size;
  }
  return made;
}

std::size_t width_of(std::string_view text) {
  std::size_t columns = 0;
  for (std::size_t at = 0; at < text.size();) {
    const Glyph glyph = decode(text.substr(at));
    columns += columns_of(glyph.code);
    at += glyph.size;
  }
  return columns;
}

std::string clipped(std::string_view text, std::size_t columns) {
  if (width_of(text) <= columns) return std::string(text);
  if (columns == 0) return {};
  std::size_t taken = 0;
  std::size_t at = 0;
  while (at < text.size()) {
    const Glyph glyph = decode(text.substr(at));
    if (taken + columns_of(glyph.code) > columns - 1) break;
    taken += columns_of(glyph.code);
    at += glyph.size;
  }
  return std::string(text.substr(0, at)) + "…";
}

std::string json_visible(std::string_view json) {
  std::string made;
  made.reserve(json.size());
  for (std::size_t at = 0; at < json.size();) {
    const Glyph glyph = decode(json.substr(at));
    const bool is_kept = !(glyph.code >= 0x7F && glyph.code < 0xA0) && !turns_text(glyph.code);
    made += is_kept ? std::string(json.substr(at, glyph.size))
                    : fmt::format("\\u{:04x}", static_cast<std::uint32_t>(glyph.code));
    at += glyph.size;
  }
  return made;
}

std::string lowered(std::string_view text) {
  std::string made(text);
  for (char& letter : made) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  }
  return made;
}

std::string shell_word(std::string_view text) {
  constexpr std::string_view plain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./:@%+=,";
  if (!text.empty() && text.find_first_not_of(plain) == std::string_view::npos) {
    return std::string(text);
  }
  std::string quoted = "'";
  for (const char letter : text) quoted += letter == '\'' ? "'\\''" : std::string(1, letter);
  return quoted + "'";
}

}  // namespace perdure::cli
