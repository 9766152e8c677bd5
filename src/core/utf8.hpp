// The sequences of UTF-8, one by one (text.hpp says which are well-formed).
// Also the runs of a JSON string that need no care.

#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace perdure {

/// The bytes of the well-formed sequence at `p` (which is before `end`), or 0 if there is none.
inline std::size_t utf8_sequence_bytes(const char* p, const char* end) {
  const auto byte = [p](std::size_t i) { return static_cast<std::uint8_t>(p[i]); };
  const auto is_within = [&](std::size_t i, unsigned low, unsigned high) {
    return byte(i) >= low && byte(i) <= high;
  };
  const std::uint8_t lead = byte(0);
  const auto left = static_cast<std::size_t>(end - p);
  if (lead < 0x80) return 1;
  if (lead < 0xC2) return 0;
  if (lead < 0xE0) return left >= 2 && is_within(1, 0x80, 0xBF) ? 2 : 0;
  if (lead < 0xF0) {
    const unsigned low = lead == 0xE0 ? 0xA0 : 0x80;
    const unsigned high = lead == 0xED ? 0x9F : 0xBF;
    return left >= 3 && is_within(1, low, high) && is_within(2, 0x80, 0xBF) ? 3 : 0;
  }
  if (lead > 0xF4 || left < 4) return 0;
  const unsigned low = lead == 0xF0 ? 0x90 : 0x80;
  const unsigned high = lead == 0xF4 ? 0x8F : 0xBF;
  return is_within(1, low, high) && is_within(2, 0x80, 0xBF) && is_within(3, 0x80, 0xBF) ? 4 : 0;
}

/// Whether the three bytes of a surrogate (WTF-8) are at `p`, which is before `end`.
inline bool is_surrogate_at(const char* p, const char* end) {
  const auto byte = [p](std::size_t i) { return static_cast<std::uint8_t>(p[i]); };
  return end - p >= 3 && byte(0) == 0xED && byte(1) >= 0xA0 && byte(1) <= 0xBF && byte(2) >= 0x80 &&
         byte(2) <= 0xBF;
}

/// After the longest ASCII prefix that is a multiple of eight bytes.
inline const char* skip_ascii_words(const char* p, const char* end) {
  for (; end - p >= 8; p += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, p, sizeof(word));
    if ((word & 0x8080808080808080) != 0) break;
  }
  return p;
}

/// The first byte from `p` on that is not plain: a quote, a backslash, a control character, or
/// part of a non-ASCII character; `end` if there is none.
///
/// Sixteen bytes at a time, because nearly all of a chat transcript is such runs. As vectors of the
/// compiler's: they are what the machine has, whichever it is.
inline const char* plain_run_end(const char* p, const char* end) {
  using Bytes [[gnu::vector_size(16)]] = signed char;
  if constexpr (std::endian::native == std::endian::little) {
    for (; end - p >= 16; p += 16) {
      Bytes bytes;
      std::memcpy(&bytes, p, sizeof(bytes));
      // Signed: the bytes of other scripts are below zero.
      const Bytes hits = (bytes < 0x20) | (bytes == '"') | (bytes == '\\');
      const auto [low, high] = std::bit_cast<std::array<std::uint64_t, 2>>(hits);
      if (low != 0) return p + std::countr_zero(low) / 8;
      if (high != 0) return p + 8 + std::countr_zero(high) / 8;
    }
  }
  for (; p != end; ++p) {
    const auto byte = static_cast<std::uint8_t>(*p);
    if (byte < 0x20 || byte >= 0x80 || byte == '"' || byte == '\\') return p;
  }
  return end;
}

}  // namespace perdure
