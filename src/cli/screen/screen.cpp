// Colours are the eight that every terminal has; meaning never rests on them alone.

#include "screen/screen.hpp"

#include <algorithm>
#include <iterator>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "screen/text.hpp"

namespace perdure::cli {
namespace {

std::string_view code_of(Ink ink) {
  switch (ink) {
    case Ink::plain:
      return "";
    case Ink::bold:
      return "\x1b[1m";
    case Ink::dim:
      return "\x1b[2m";
    case Ink::red:
      return "\x1b[31m";
    case Ink::green:
      return "\x1b[32m";
    case Ink::yellow:
      return "\x1b[33m";
    case Ink::cyan:
      return "\x1b[36m";
  }
  return "";
}

}  // namespace

void Screen::line(const std::vector<Piece>& pieces) {
  if (traits_.is_silent) return;
  const auto is_blank = [](const Piece& piece) {
    return piece.text.find_first_not_of(' ') == std::string::npos;
  };
  const auto end = std::find_if_not(pieces.rbegin(), pieces.rend(), is_blank).base();
  for (auto at = pieces.begin(); at != end; ++at) {
    Piece piece = *at;
    if (std::next(at) == end) piece.text.erase(piece.text.find_last_not_of(' ') + 1);
    const bool is_coloured = traits_.has_colour && piece.ink != Ink::plain && !piece.text.empty();
    if (is_coloured) stream_ << code_of(piece.ink);
    stream_ << visible(piece.text);
    if (is_coloured) stream_ << "\x1b[0m";
  }
  stream_ << '\n';
}

void Screen::text(std::string_view text, Lines lines) {
  if (traits_.is_silent) return;
  stream_ << visible(text, lines);
  if (!text.ends_with('\n')) stream_ << '\n';
}

void Screen::bytes(std::string_view bytes) {
  if (!traits_.is_silent) stream_ << bytes;
}

void Screen::flush() { stream_.flush(); }

bool Screen::is_open() const { return stream_.good(); }

}  // namespace perdure::cli
