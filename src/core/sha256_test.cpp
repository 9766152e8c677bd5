// SHA-256: NIST's vectors, splitting, framing, and hexadecimal.

#include "perdure/core/sha256.hpp"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <gtest/gtest.h>
#include <optional>
#include <rapidcheck/gtest.h>
#include <utility>

#include "core/api/sha256.hpp"
#include "core/api/text.hpp"

namespace perdure {
namespace {

using namespace std::string_literals;

TEST(Sha256, NistsVectorsHold) {
  EXPECT_EQ(to_hex(sha256("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(to_hex(sha256("abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(to_hex(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(to_hex(sha256("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmn"
                          "hijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu")),
            "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
  EXPECT_EQ(to_hex(sha256(std::string(1'000'000, 'a'))),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

RC_GTEST_PROP(Sha256, HowTheBytesAreSplitDoesNotMatter, (const std::string& bytes)) {
  Sha256 hash;
  for (std::string_view rest = bytes; !rest.empty();) {
    const auto part = *rc::gen::inRange<std::size_t>(1, std::min<std::size_t>(rest.size(), 80) + 1);
    hash.update(rest.substr(0, part));
    hash.update("");
    rest.remove_prefix(part);
  }
  RC_ASSERT(hash.finish() == sha256(bytes));
}

TEST(Sha256, AFinishedHashStartsAnew) {
  Sha256 hash;
  hash.update("left over");
  EXPECT_EQ(hash.finish(), sha256("left over"));
  EXPECT_EQ(hash.finish(), sha256(""));
  hash.update("abc");
  Sha256 moved = std::move(hash);
  EXPECT_EQ(moved.finish(), sha256("abc"));
}

TEST(Sha256, NumbersAndSizesAreEightBytesBigEndian) {
  Sha256 hash;
  hash.update_number(0x0102030405060708);
  EXPECT_EQ(hash.finish(), sha256("\x01\x02\x03\x04\x05\x06\x07\x08"));
  hash.update_sized("abc");
  EXPECT_EQ(hash.finish(), sha256("\0\0\0\0\0\0\0\3abc"s));
}

TEST(Sha256, SizedFieldsAreNeverConfused) {
  Sha256 hash;
  hash.update_sized("ab");
  hash.update_sized("c");
  const Digest one = hash.finish();
  hash.update_sized("a");
  hash.update_sized("bc");
  EXPECT_NE(one, hash.finish());
}

RC_GTEST_PROP(Hex, EveryDigestReadsBack, (const Digest& digest)) {
  RC_ASSERT(digest_from_hex(to_hex(digest)) == digest);
}

TEST(Hex, EitherCaseIsReadAndAnythingElseIsNot) {
  const std::string hex = to_hex(sha256("abc"));
  std::string upper = hex;
  std::ranges::transform(upper, upper.begin(), [](unsigned char c) { return std::toupper(c); });
  EXPECT_EQ(digest_from_hex(upper), sha256("abc"));

  EXPECT_EQ(digest_from_hex(""), std::nullopt);
  EXPECT_EQ(digest_from_hex(hex + "0"), std::nullopt);
  EXPECT_EQ(digest_from_hex(hex.substr(1)), std::nullopt);
  for (const char wrong : {'g', '/', ':', '@', 'G', '`', ' ', '\0'}) {
    std::string text = hex;
    text[17] = wrong;
    EXPECT_EQ(digest_from_hex(text), std::nullopt) << wrong;
  }
}

}  // namespace
}  // namespace perdure
