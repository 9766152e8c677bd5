// The text of a raw id.
//
// Crockford's alphabet leaves out i, l, o and u, and its characters ascend in
// ASCII; with the bits taken from the top, texts therefore sort as the bytes.

#include "perdure/core/id_source.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace perdure {

IdSource::~IdSource() = default;

std::string to_base32(const RawId& raw) {
  constexpr std::string_view alphabet = "0123456789abcdefghjkmnpqrstvwxyz";
  constexpr std::size_t length = 26;

  std::string text;
  text.reserve(length);
  // 26 characters have room for 130 bits: two zero bits go before the first byte.
  unsigned pending = 0;
  unsigned pending_bits = 2;
  for (const std::uint8_t byte : raw) {
    pending = (pending << 8) | byte;
    pending_bits += 8;
    while (pending_bits >= 5) {
      pending_bits -= 5;
      text.push_back(alphabet[(pending >> pending_bits) & 31]);
    }
  }
  return text;
}

}  // namespace perdure
