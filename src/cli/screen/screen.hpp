// One of the two streams, as people see it: lines of coloured pieces. All text that goes through here
// is made visible first (text.hpp), so no verb can forget to.

#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "screen/text.hpp"

namespace perdure::cli {

enum class Ink : std::uint8_t { plain, bold, dim, red, green, yellow, cyan };

struct Piece {
  std::string text;
  Ink ink = Ink::plain;
};

class Screen {
 public:
  struct Traits {
    bool is_terminal = false;
    bool has_colour = false;
    std::size_t columns = 80;
    bool is_silent = false;     ///< Nothing is written.
    bool takes_escapes = true;  ///< Of a terminal: it says of itself that it is more than dumb.
  };

  Screen(std::ostream& stream, Traits traits) : stream_(stream), traits_(traits) {}

  /// Blanks at its end are left out.
  void line(const std::vector<Piece>& pieces);
  void line(std::string_view text) { line({Piece{std::string(text)}}); }
  /// Text of any number of lines; ends with a line break.
  void text(std::string_view text, Lines lines = Lines::many);
  /// Bytes as they are: JSON, and what was asked for raw.
  void bytes(std::string_view bytes);
  void flush();
  void resize(std::size_t columns) { traits_.columns = columns; }

  [[nodiscard]] bool is_terminal() const { return traits_.is_terminal; }
  /// Whether what is drawn can be taken back and drawn again.
  [[nodiscard]] bool can_redraw() const { return traits_.is_terminal && traits_.takes_escapes; }
  [[nodiscard]] std::size_t columns() const { return traits_.columns; }
  /// False once nobody reads any more, or it cannot be written.
  [[nodiscard]] bool is_open() const;

 private:
  std::ostream& stream_;
  Traits traits_;
};

}  // namespace perdure::cli
