// However text is cut, what is handed on is whole characters, and all of it.

#include <cstddef>
#include <gtest/gtest.h>
#include <string>

#include "core/api/text.hpp"
#include "screen/text.hpp"

namespace perdure::cli {
namespace {

TEST(WholeTextTest, HandsOnWholeCharactersHoweverItIsCut) {
  const std::string text = "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z";
  for (std::size_t size = 1; size <= text.size(); ++size) {
    WholeText whole;
    std::string all;
    for (std::size_t at = 0; at < text.size(); at += size) {
      const std::string piece = whole.take(text.substr(at, size));
      EXPECT_TRUE(is_utf8(piece)) << size << " " << at;
      all += piece;
    }
    EXPECT_EQ(all + whole.rest(), text);
  }
}

TEST(WholeTextTest, BytesThatAreNoTextAreNotHeldBackForLong) {
  WholeText whole;
  EXPECT_EQ(whole.take("\xff\x80\x80\x80 a"), "\xff\x80\x80\x80 a");
  EXPECT_EQ(whole.take("\xe2\x82"), "");
  EXPECT_EQ(whole.rest(), "\xe2\x82");
  EXPECT_EQ(whole.rest(), "");
}

}  // namespace
}  // namespace perdure::cli
