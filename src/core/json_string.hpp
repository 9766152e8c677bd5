// Strings of JSON text: the runs that need no care.

#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

namespace perdure {

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
