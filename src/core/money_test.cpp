// What is money, and what is not.

#include <gtest/gtest.h>
#include <string>

#include "core/api/text.hpp"

namespace perdure {
namespace {

TEST(Money, IsReadToTheLastMillionth) {
  EXPECT_EQ(micros_from_dollars("2.25"), 2'250'000);
  EXPECT_EQ(micros_from_dollars("0"), 0);
  EXPECT_EQ(micros_from_dollars("0.000001"), 1);
  EXPECT_EQ(micros_from_dollars("0.1000000000"), 100'000);
  EXPECT_EQ(micros_from_dollars("999999999.999999"), 999'999'999'999'999);
}

TEST(Money, AnythingElseIsNone) {
  for (const char* text : {"", ".", "1.", ".5", "-1", "+1", "1e3", "1,5", "0x1", " 1", "1.0000001",
                           "10000000000", "1.2.3", "two"}) {
    EXPECT_FALSE(micros_from_dollars(text)) << text;
  }
}

}  // namespace
}  // namespace perdure
