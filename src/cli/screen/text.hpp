// Text from a store, made fit for a terminal. A title, a tool's output, a model's words are written
// by anybody: none of their bytes may act on the terminal.
//
// Text that streams in pieces, which may be cut within a character: handed on in whole ones, because
// half a character cannot be shown, nor be judged harmless.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace perdure::cli {

enum class Lines : std::uint8_t {
  one,    ///< Line breaks and tabs become spaces.
  many,   ///< They stay.
  prose,  ///< So do the joiners that emoji and joining scripts need where they are.
};

/// The text with every control character (C0, DEL, C1), change of writing direction, invisible character
/// and byte that is not UTF-8 written out visibly: "\x1b", "\u202e", "\U000e0041". What comes back is
/// UTF-8. Only what a model says is prose: in a name or an argument a joiner may hide a difference.
[[nodiscard]] std::string visible(std::string_view text, Lines lines = Lines::one);

/// How many columns the text takes.
[[nodiscard]] std::size_t width_of(std::string_view text);

/// The text in at most so many columns, with "…" at its end if something was cut.
[[nodiscard]] std::string clipped(std::string_view text, std::size_t columns);

/// The text in lines of at most so many columns, broken at spaces; what breaks it already stays.
[[nodiscard]] std::string wrapped(std::string_view text, std::size_t columns);

/// A whole number, of nothing but digits. Empty: it is none, or too large.
[[nodiscard]] std::optional<std::int64_t> number_from(std::string_view text);

/// As a shell takes it for one word, quoted only if need be.
[[nodiscard]] std::string shell_word(std::string_view text);

/// With what a terminal may act on, or a person cannot see, written as \uXXXX: for JSON, where it means the same.
[[nodiscard]] std::string json_visible(std::string_view json);

class WholeText {
 public:
  /// All that is whole by now.
  [[nodiscard]] std::string take(std::string_view piece);
  /// What was held back, as it is; nothing more follows.
  [[nodiscard]] std::string rest();

 private:
  std::string held_;
};

}  // namespace perdure::cli
