// A word of ASCII at a time; the rest by sequences.

#include "perdure/core/text.hpp"

#include <cstddef>
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

}  // namespace perdure
