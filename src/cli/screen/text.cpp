// UTF-8 is decoded strictly: what another decoder might take for a control character is none of ours
// to pass on.
//
// At most three bytes are held back: the beginning of a character whose end has not come.

#include "screen/text.hpp"

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/api/text.hpp"
#include "core/api/wording.hpp"

namespace perdure::cli {
namespace {

struct Glyph {
  char32_t code = 0;
  std::size_t size = 1;
  bool is_valid = false;
};

Glyph decode(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text.front());
  const std::size_t size = first_character(text).size();
  if (size == 0) return {.code = lead};
  char32_t code = size == 1 ? lead : lead & (0x7FU >> size);
  for (std::size_t i = 1; i < size; ++i) {
    code = (code << 6U) | (static_cast<unsigned char>(text[i]) & 0x3FU);
  }
  return {.code = code, .size = size, .is_valid = true};
}

// 0: there is none.
char32_t first_of(std::string_view text) { return text.empty() ? 0 : decode(text).code; }

bool is_control(char32_t code) { return code < 0x20 || (code >= 0x7F && code < 0xA0); }

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

// What shows nothing, or turns the order of what follows: two texts that differ would look alike. Those
// that Unicode calls default ignorable, and the breaks and annotations that terminals do not know.
bool is_hidden(char32_t code) {
  static constexpr std::array<Range, 20> hidden = {
      {{0xAD, 0xAD},       {0x34F, 0x34F},     {0x61C, 0x61C},     {0x115F, 0x1160},
       {0x17B4, 0x17B5},   {0x180B, 0x180F},   {0x200B, 0x200F},   {0x2028, 0x202E},
       {0x2060, 0x206F},   {0x2800, 0x2800},   {0x3164, 0x3164},   {0xFE00, 0xFE0F},
       {0xFEFF, 0xFEFF},   {0xFFA0, 0xFFA0},   {0xFFF0, 0xFFFB},   {0x13430, 0x1343F},
       {0x1BCA0, 0x1BCA3}, {0x1D159, 0x1D159}, {0x1D173, 0x1D17A}, {0xE0000, 0xE0FFF}}};
  return is_in(hidden, code);
}

bool is_emoji(char32_t code) {
  static constexpr std::array<Range, 12> emoji = {{{0xA9, 0xA9},
                                                   {0xAE, 0xAE},
                                                   {0x203C, 0x203C},
                                                   {0x2049, 0x2049},
                                                   {0x2122, 0x2122},
                                                   {0x2139, 0x2139},
                                                   {0x2190, 0x2BFF},
                                                   {0x3030, 0x3030},
                                                   {0x303D, 0x303D},
                                                   {0x3297, 0x3297},
                                                   {0x3299, 0x3299},
                                                   {0x1F000, 0x1FAFF}}};
  return is_in(emoji, code);
}

// Arabic, Syriac, N'Ko, the scripts of India and their neighbours, Mongolian.
bool is_of_joining_script(char32_t code) {
  static constexpr std::array<Range, 5> joining = {
      {{0x600, 0x8FF}, {0x900, 0xDFF}, {0xF00, 0x109F}, {0x1780, 0x18AF}, {0xFB50, 0xFDFF}}};
  return is_in(joining, code) && !is_hidden(code);
}

constexpr char32_t non_joiner = 0x200C;
constexpr char32_t joiner = 0x200D;
constexpr char32_t as_text = 0xFE0E;
constexpr char32_t as_emoji = 0xFE0F;
constexpr char32_t keycap = 0x20E3;

// Whether prose needs it there: between two letters that it joins or parts, or after the emoji that it
// shapes. 0: the text begins or ends there, and may continue in the next piece of a stream.
bool belongs_there(char32_t before, char32_t code, char32_t after) {
  if (code == as_text || code == as_emoji) {
    const bool is_on_a_key = before == '#' || before == '*' || (before >= '0' && before <= '9');
    return is_emoji(before) || (is_on_a_key && after == keycap);
  }
  if (code != joiner && code != non_joiner) return false;
  if (before == 0 && after == 0) return false;
  const auto fits = [&](char32_t code_beside) {
    const bool is_part_of_emoji = is_emoji(code_beside) || code_beside == as_emoji;
    return code_beside == 0 || is_of_joining_script(code_beside) ||
           (code == joiner && is_part_of_emoji);
  };
  return fits(before) && fits(after);
}

std::string written_out(char32_t code) {
  const auto number = static_cast<std::uint32_t>(code);
  return number <= 0xFFFF ? fmt::format("\\u{:04x}", number) : fmt::format("\\U{:08x}", number);
}

// Beyond four digits as two surrogates.
std::string written_in_json(char32_t code) {
  const auto number = static_cast<std::uint32_t>(code);
  if (number <= 0xFFFF) return fmt::format("\\u{:04x}", number);
  const std::uint32_t rest = number - 0x10000;
  return fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + (rest >> 10U), 0xDC00 + (rest & 0x3FFU));
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
  char32_t before = 0;
  for (std::size_t at = 0; at < text.size();) {
    const Glyph glyph = decode(text.substr(at));
    const bool is_break = glyph.code == '\n' || glyph.code == '\t';
    if (is_break) {
      made += lines == Lines::one ? ' ' : static_cast<char>(glyph.code);
    } else if (!glyph.is_valid || is_control(glyph.code)) {
      made += fmt::format("\\x{:02x}", static_cast<std::uint32_t>(glyph.code));
    } else if (is_hidden(glyph.code) &&
               !(lines == Lines::prose &&
                 belongs_there(before, glyph.code, first_of(text.substr(at + glyph.size))))) {
      made += written_out(glyph.code);
    } else {
      made += text.substr(at, glyph.size);
    }
    at += glyph.size;
    before = glyph.code;
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

std::string wrapped(std::string_view text, std::size_t columns) {
  std::string made(text);
  std::size_t begin = 0;  // Of the line.
  std::size_t space = 0;  // The last one in it; 0: there is none yet.
  for (std::size_t at = 0; at < made.size(); ++at) {
    if (made[at] == ' ') space = at;
    if (made[at] == '\n') begin = at + 1;
    const bool is_full = width_of(std::string_view(made).substr(begin, at + 1 - begin)) > columns;
    if (!is_full || space <= begin) continue;
    made[space] = '\n';
    begin = space + 1;
  }
  return made;
}

std::string json_visible(std::string_view json) {
  std::string made;
  made.reserve(json.size());
  for (std::size_t at = 0; at < json.size();) {
    const Glyph glyph = decode(json.substr(at));
    const bool is_kept = !(glyph.code >= 0x7F && glyph.code < 0xA0) && !is_hidden(glyph.code);
    made += is_kept ? std::string(json.substr(at, glyph.size)) : written_in_json(glyph.code);
    at += glyph.size;
  }
  return made;
}

std::optional<std::int64_t> number_from(std::string_view text) {
  std::int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (text.empty() || error != std::errc() || rest != end || text.front() == '-') {
    return std::nullopt;
  }
  return number;
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

std::string WholeText::take(std::string_view piece) {
  held_ += piece;
  std::string whole(whole_characters(held_));
  held_.erase(0, whole.size());
  return whole;
}

std::string WholeText::rest() { return std::exchange(held_, {}); }

}  // namespace perdure::cli
