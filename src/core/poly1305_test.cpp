// Poly1305: the RFC's example, and that each byte and the key count.

#include "perdure/core/poly1305.hpp"

#include <cstddef>
#include <gtest/gtest.h>
#include <string>

#include "perdure/core/sha256.hpp"

namespace perdure {
namespace {

TEST(Poly1305, GivesTheTagOfTheRfc) {
  // RFC 8439, section 2.5.2.
  const Digest key =
      digest_from_hex("85d6be7857556d337f4452fe42d506a80103808afb0db2fd4abff6af4149f51b").value();
  const Poly1305Tag tag{0xa8, 0x06, 0x1d, 0xc1, 0x30, 0x51, 0x36, 0xc6,
                        0xc2, 0x2b, 0x8b, 0xaf, 0x0c, 0x01, 0x27, 0xa9};
  EXPECT_EQ(poly1305(key, "Cryptographic Forum Research Group"), tag);
}

TEST(Poly1305, TellsTextsApartByAnyByte) {
  const Digest key = sha256("a key");
  const std::string text(1000, 'x');
  for (const std::size_t at : {0U, 1U, 15U, 16U, 500U, 999U}) {
    std::string other = text;
    other[at] = 'y';
    EXPECT_NE(poly1305(key, other), poly1305(key, text)) << at;
  }
  EXPECT_NE(poly1305(key, text + "x"), poly1305(key, text));
  EXPECT_NE(poly1305(sha256("another"), text), poly1305(key, text));
  EXPECT_EQ(poly1305(key, text), poly1305(key, std::string(text)));
}

}  // namespace
}  // namespace perdure
