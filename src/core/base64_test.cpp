// Base64: the vectors of RFC 4648, what is refused, round trips.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <string>
#include <string_view>
#include <utility>

#include "core/api/text.hpp"

namespace perdure {
namespace {

TEST(Base64, KeepsTheVectorsOfRfc4648) {
  using Pair = std::pair<std::string_view, std::string_view>;
  for (const auto& [bytes, text] :
       {Pair{"", ""}, Pair{"f", "Zg=="}, Pair{"fo", "Zm8="}, Pair{"foo", "Zm9v"},
        Pair{"foob", "Zm9vYg=="}, Pair{"fooba", "Zm9vYmE="}, Pair{"foobar", "Zm9vYmFy"}}) {
    EXPECT_EQ(to_base64(bytes), text);
    EXPECT_EQ(from_base64(text), bytes);
  }
}

TEST(Base64, RefusesEverythingElse) {
  for (const std::string_view text :
       {"Z", "Zg", "Zg=", "Zg===", "Z===", "====", "Zm9-", "Zm9\n", "Zh==", "Zm9=", "Zg==Zg=="}) {
    EXPECT_FALSE(from_base64(text)) << text;
  }
}

RC_GTEST_PROP(Base64, BringsAnyBytesBack, (const std::string& bytes)) {
  RC_ASSERT(from_base64(to_base64(bytes)) == bytes);
}

}  // namespace
}  // namespace perdure
