// ECMAScript's grammar, read from left to right and written again with what means the same to
// PCRE2. Nothing of PCRE2's own (verbs, recursion, inline flags, possessive repetition) gets
// through, since every character that means nothing to ECMAScript is written as its number.
//
// Two liberties beyond Unicode mode, as browsers take them without it: `\:` is a colon, and a
// brace that begins no repetition is a brace.

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "perdure/core/error.hpp"
#include "perdure/core/text.hpp"
#include "tools/schema/pattern.hpp"
#include "tools/schema/pattern_sets.hpp"

namespace perdure::schema {
namespace {

bool is_surrogate(std::uint32_t code) { return code >= 0xD800 && code <= 0xDFFF; }

class Translation {
 public:
  explicit Translation(std::string_view source) : rest_(source) {}

  Result<std::string> run() {
    while (!rest_.empty() && problem_.empty()) take_term();
    if (problem_.empty() && open_groups_ > 0) problem_ = "a group is not closed";
    if (!problem_.empty()) return fail(ErrorCode::invalid_argument, problem_);
    return out_;
  }

 private:
  bool take(std::string_view text) {
    if (!rest_.starts_with(text)) return false;
    rest_.remove_prefix(text.size());
    return true;
  }
  void refuse(std::string why) {
    if (problem_.empty()) problem_ = std::move(why);
  }
  static std::string code_point(std::uint32_t code) { return fmt::format("\\x{{{:x}}}", code); }

  void take_term() {
    const char next = rest_.front();
    const bool was_repeatable = std::exchange(can_repeat_, true);
    if (take("|")) {
      out_ += '|';
      can_repeat_ = false;
    } else if (take("^") || take("$")) {
      out_ += next;
      can_repeat_ = false;
    } else if (next == '*' || next == '+' || next == '?' || next == '{') {
      take_repetition(was_repeatable);
    } else if (take("(")) {
      open_group();
    } else if (take(")")) {
      if (--open_groups_ < 0) refuse("a group is closed that was not opened");
      out_ += ')';
    } else if (take(".")) {
      out_ += R"([^\n\r\x{2028}\x{2029}])";
    } else if (take("[")) {
      take_class();
    } else if (take("\\")) {
      take_escape();
    } else {
      out_ += code_point(take_character());
    }
  }

  void open_group() {
    ++open_groups_;
    can_repeat_ = false;
    for (const std::string_view kind : {"?:", "?=", "?!", "?<=", "?<!"}) {
      if (take(kind)) {
        out_ += fmt::format("({}", kind);
        return;
      }
    }
    if (take("?<")) {
      out_ += fmt::format("(?<{}>", take_name());
    } else if (rest_.starts_with('?')) {
      refuse("(? begins no group that is known");
    } else {
      out_ += '(';
    }
  }

  std::string take_name() {
    const std::size_t end = std::min(rest_.find('>'), rest_.size());
    const std::string name(rest_.substr(0, end));
    rest_.remove_prefix(end);
    const bool is_name =
        !name.empty() && !is_digit(name.front()) && std::ranges::all_of(name, is_word) && take(">");
    if (!is_name) refuse("a group's name must be of letters, digits and _");
    return name;
  }

  void take_repetition(bool may_repeat) {
    std::string repetition;
    if (take("*") || take("+") || take("?")) {
      repetition = *(rest_.data() - 1);
    } else if (auto counted = take_counted()) {
      repetition = *std::move(counted);
    } else {
      rest_.remove_prefix(1);
      out_ += code_point('{');
      return;
    }
    if (!may_repeat) refuse("there is nothing to repeat before " + repetition);
    out_ += repetition;
    if (take("?")) out_ += '?';
    can_repeat_ = false;
  }

  // `{2}`, `{2,}`, `{2,5}`.
  std::optional<std::string> take_counted() {
    std::size_t at = 1;
    const auto digits = [&] {
      const std::size_t from = at;
      while (at < rest_.size() && is_digit(rest_[at])) ++at;
      return at - from;
    };
    if (digits() == 0) return std::nullopt;
    if (at < rest_.size() && rest_[at] == ',') {
      ++at;
      digits();
    }
    if (at >= rest_.size() || rest_[at] != '}') return std::nullopt;
    std::string counted(rest_.substr(0, at + 1));
    rest_.remove_prefix(at + 1);
    return counted;
  }

  // What stands for several characters, as the inside of a class; empty: it is none.
  std::string take_set() {
    if (take("d") || take("D") || take("w") || take("W")) {
      return std::string("\\") + *(rest_.data() - 1);
    }
    if (take("s")) return std::string(spaces);
    if (take("S")) return std::string(no_spaces);
    if (take("p{") || take("P{")) return take_property(*(rest_.data() - 2));
    return {};
  }

  std::string take_property(char sign) {
    const std::size_t end = std::min(rest_.find('}'), rest_.size());
    std::string set = property_set(sign, rest_.substr(0, end));
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    if (set.empty()) refuse("\\p needs a general category or Script=…");
    return set;
  }

  void take_escape() {
    if (rest_.empty()) return refuse("it ends with a backslash");
    if (take("b") || take("B")) {
      out_ += std::string("\\") + *(rest_.data() - 1);
      can_repeat_ = false;
    } else if (const std::string set = take_set(); !set.empty()) {
      out_ += "[" + set + "]";
    } else if (!problem_.empty()) {
      return;
    } else if (take("k<")) {
      out_ += fmt::format("\\k<{}>", take_name());
    } else if (rest_.front() >= '1' && rest_.front() <= '9') {
      std::size_t end = 1;
      while (end < rest_.size() && is_digit(rest_[end])) ++end;
      out_ += fmt::format("\\g{{{}}}", rest_.substr(0, end));
      rest_.remove_prefix(end);
    } else {
      out_ += code_point(take_escaped());
    }
  }

  // A single character after a backslash.
  std::uint32_t take_escaped() {
    constexpr std::string_view names = "tnvfr";
    constexpr std::array<std::uint32_t, 5> codes = {9, 10, 11, 12, 13};
    if (rest_.empty()) return refuse("it ends with a backslash"), 0;
    const char next = rest_.front();
    if (const std::size_t i = names.find(next); i != std::string_view::npos) {
      rest_.remove_prefix(1);
      return codes.at(i);
    }
    if (take("0")) {
      if (!rest_.empty() && is_digit(rest_.front())) refuse("\\0 is followed by a digit");
      return 0;
    }
    if (take("x")) return take_hex(2);
    if (take("u{")) return take_braced();
    if (take("u")) return take_utf16();
    if (take("c")) return take_control();
    if (is_word(next) && next != '_') refuse(std::string("\\") + next + " means nothing");
    return take_character();
  }

  std::uint32_t take_control() {
    const char letter = rest_.empty() ? '\0' : rest_.front();
    if (!is_word(letter) || is_digit(letter) || letter == '_')
      return refuse("\\c needs a letter"), 0;
    rest_.remove_prefix(1);
    return static_cast<std::uint32_t>(letter) % 32;
  }

  std::uint32_t take_hex(std::size_t digits) {
    std::uint32_t code = 0;
    const std::string_view text = rest_.substr(0, digits);
    const auto read = std::from_chars(text.data(), text.data() + text.size(), code, 16);
    if (text.size() != digits || read.ptr != text.data() + digits) {
      return refuse("an escape lacks hexadecimal digits"), 0;
    }
    rest_.remove_prefix(digits);
    return code;
  }

  std::uint32_t take_braced() {
    const std::size_t end = rest_.find('}');
    if (end == std::string_view::npos || end == 0 || end > 8)
      return refuse("\\u{ is not closed"), 0;
    const std::uint32_t code = take_hex(end);
    if (code > 0x10FFFF || is_surrogate(code)) refuse("\\u{…} is no character");
    return take("}") ? code : 0;
  }

  std::uint32_t take_utf16() {
    const std::uint32_t high = take_hex(4);
    if (!is_surrogate(high)) return high;
    const bool is_pair = high < 0xDC00 && take("\\u");
    const std::uint32_t low = is_pair ? take_hex(4) : 0;
    if (low < 0xDC00 || low > 0xDFFF) return refuse("a half of a surrogate pair"), 0;
    return 0x10000 + ((high - 0xD800) << 10U) + (low - 0xDC00);
  }

  // The source is UTF-8.
  std::uint32_t take_character() {
    const auto lead = static_cast<unsigned char>(rest_.front());
    const std::size_t size = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    std::uint32_t code = size == 1 ? lead : lead & (0xFFU >> (size + 1));
    for (std::size_t i = 1; i < size; ++i) {
      code = code << 6U | (static_cast<unsigned char>(rest_[i]) & 0x3FU);
    }
    rest_.remove_prefix(size);
    return code;
  }

  void take_class() {
    const bool is_negated = take("^");
    std::string inside;
    while (problem_.empty() && !rest_.empty() && rest_.front() != ']') inside += take_class_item();
    if (!take("]")) return refuse("a class is not closed");
    if (!inside.empty()) {
      out_ += (is_negated ? "[^" : "[") + inside + "]";
    } else {
      out_ += is_negated ? R"([\x{0}-\x{10ffff}])" : R"([^\x{0}-\x{10ffff}])";
    }
  }

  std::string take_class_item() {
    const Bound from = take_bound();
    const bool is_range = rest_.starts_with('-') && !rest_.starts_with("-]") && rest_.size() > 1;
    if (!is_range) return from.set.empty() ? code_point(from.code) : from.set;
    rest_.remove_prefix(1);
    const Bound to = take_bound();
    if (!from.set.empty() || !to.set.empty()) return refuse("a range needs two characters"), "";
    if (from.code > to.code) return refuse("a range is out of order"), "";
    return code_point(from.code) + "-" + code_point(to.code);
  }

  struct Bound {
    std::uint32_t code = 0;
    std::string set{};
  };
  Bound take_bound() {
    if (!take("\\")) return {.code = take_character()};
    if (std::string set = take_set(); !set.empty()) return {.set = std::move(set)};
    if (take("b")) return {.code = 8};
    return {.code = take_escaped()};
  }

  std::string_view rest_;
  std::string out_{};
  std::string problem_{};
  int open_groups_ = 0;
  bool can_repeat_ = false;  ///< What was written last may be repeated.
};

}  // namespace

Result<std::string> pcre2_of(std::string_view source) {
  if (!is_utf8(source)) return fail(ErrorCode::invalid_argument, "a pattern must be UTF-8");
  return Translation(source).run();
}

}  // namespace perdure::schema
