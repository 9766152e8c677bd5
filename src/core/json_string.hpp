// Strings of JSON text: the runs that need no care.

#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

namespace perdure {

/// The first byte from `p` on that is not plain: a quote, a backslash, a control character, or
/// part of a non-ASCII character; `end` if there is none.
///
/// Eight bytes at a time, because nearly all of a chat transcript is such runs.
inline const char* plain_run_end(const char* p, const char* end) {
  constexpr std::uint64_t ones = 0x0101010101010101;
  constexpr std::uint64_t highs = 0x8080808080808080;
  if constexpr (std::endian::native == std::endian::little) {
    for (; end - p >= 8; p += 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, p, sizeof(word));
      const std::uint64_t quote = word ^ (ones * '"');
      const std::uint64_t backslash = word ^ (ones * '\\');
      // Each difference sets the high bit of a byte that borrowed. A borrow may spread upwards to
      // innocent bytes, but the lowest bit set is always right.
      const std::uint64_t hits =
          (word | (word - ones * 0x20) | (quote - ones) | (backslash - ones)) & highs;
      if (hits != 0) return p + std::countr_zero(hits) / 8;
    }
  }
  for (; p != end; ++p) {
    const auto byte = static_cast<std::uint8_t>(*p);
    if (byte < 0x20 || byte >= 0x80 || byte == '"' || byte == '\\') return p;
  }
  return end;
}

}  // namespace perdure
