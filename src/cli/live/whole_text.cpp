// At most three bytes are held back: the beginning of a character whose end has not come.

#include "live/whole_text.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace perdure::cli {
namespace {

std::size_t size_by_lead(unsigned char lead) {
  if (lead >= 0xF0U) return 4;
  if (lead >= 0xE0U) return 3;
  return lead >= 0xC0U ? 2 : 1;
}

// How many bytes at the end begin a character and do not end it.
std::size_t unfinished(std::string_view text) {
  for (std::size_t back = 1; back <= std::min<std::size_t>(3, text.size()); ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if (byte < 0x80U) return 0;
    if (byte >= 0xC0U) return size_by_lead(byte) > back ? back : 0;
  }
  return 0;
}

}  // namespace

std::string WholeText::take(std::string_view piece) {
  held_ += piece;
  std::string whole = held_.substr(0, held_.size() - unfinished(held_));
  held_.erase(0, whole.size());
  return whole;
}

std::string WholeText::rest() { return std::exchange(held_, {}); }

}  // namespace perdure::cli
