// Bodies keep their bytes, and a reference to a blob reads back or not at all.

#include <cstdint>
#include <gtest/gtest.h>
#include <limits>
#include <optional>
#include <string>

#include "perdure/core/sha256.hpp"
#include "perdure/store/log.hpp"

namespace perdure {
namespace {

TEST(Body, TextIsLabelledByWhatItIsAndKeptAsItIs) {
  const std::string json = " { \"a\" : 1.0 }\n";
  EXPECT_EQ(Body::from_text(json).codec(), Codec::json);
  EXPECT_EQ(Body::from_text(json).bytes(), json);
  EXPECT_EQ(Body::from_text("not json").codec(), Codec::bytes);
  EXPECT_EQ(Body::from_text("").codec(), Codec::bytes);
  EXPECT_EQ(Body::from_bytes("{}").codec(), Codec::bytes);
  EXPECT_EQ(Body(), Body::from_bytes(""));
}

TEST(Body, AReferenceToABlobReadsBack) {
  const BlobRef ref{sha256("bytes"), std::numeric_limits<std::uint64_t>::max()};
  const Body body = Body::from_blob(ref);
  EXPECT_EQ(body.codec(), Codec::blob);
  EXPECT_EQ(body.bytes(),
            R"({"blob":")" + to_hex(ref.digest) + R"(","bytes":18446744073709551615})");
  EXPECT_EQ(body.blob(), ref);
  EXPECT_EQ(Body::from_stored(Codec::blob, body.bytes()), body);
}

TEST(Body, OnlyABlobBodyHasAReference) {
  const std::string text = Body::from_blob({sha256("x"), 1}).bytes();
  EXPECT_EQ(Body::from_text(text).blob(), std::nullopt);
  EXPECT_EQ(Body::from_bytes(text).blob(), std::nullopt);
}

TEST(Body, AnyOtherTextIsNoReference) {
  const std::string name = to_hex(sha256("x"));
  for (const std::string& text :
       {std::string(), std::string("{}"), "{\"blob\":\"" + name + "\"}",
        "{\"blob\":\"" + name + "\",\"bytes\":-1}", "{\"blob\":\"" + name + "\",\"bytes\":1.5}",
        "{\"blob\":\"" + name + "\",\"bytes\":\"1\"}", std::string("{\"blob\":\"ab\",\"bytes\":1}"),
        std::string("{\"blob\":7,\"bytes\":1}"), "[\"" + name + "\",1]"}) {
    EXPECT_EQ(Body::from_stored(Codec::blob, text).blob(), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace perdure
