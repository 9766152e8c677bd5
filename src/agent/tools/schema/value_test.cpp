// Numbers are exact as integers of 64 bits, and doubles beyond that.

#include <cstdint>
#include <gtest/gtest.h>
#include <optional>
#include <string>

#include "perdure/core/json.hpp"
#include "tools/schema/compiler.hpp"

namespace perdure::schema {
namespace {

Number of(const std::string& token) { return Number(Json::number(token).value()); }

TEST(NumberTest, IsTheSameHoweverItIsWritten) {
  for (const auto* token : {"10", "1e1", "10.0", "0.1e2", "1000e-2", "1E+1"}) {
    EXPECT_TRUE(of(token) <= of("10") && of(token) >= of("10")) << token;
  }
  for (const auto* token : {"0", "-0", "0.0", "0e9", "-0.000e-7"}) {
    EXPECT_TRUE(of(token) <= of("0") && of(token) >= of("0")) << token;
  }
}

TEST(NumberTest, OfIntegersIsOrderedBeyondWhatDoublesTell) {
  EXPECT_LT(of("9007199254740992"), of("9007199254740993"));
  EXPECT_LT(of("-9223372036854775808"), of("-9223372036854775807"));
}

TEST(NumberTest, OfOthersIsOrderedAsDoublesAre) {
  EXPECT_LT(of("-2"), of("-1.5"));
  EXPECT_LT(of("-1"), of("0.5"));
  EXPECT_LT(of("1e308"), of("1e400"));
  EXPECT_LT(of("-1e400"), of("-1e308"));
  EXPECT_LT(of("9223372036854775807"), of("12345678901234567890"));
  EXPECT_FALSE(of("0.1") < of("0.10000000000000000001"));
}

TEST(NumberTest, IsAnIntegerByValue) {
  for (const auto* token : {"1", "1.0", "1e2", "1.50e1", "0.0", "-3", "12345678901234567890"}) {
    EXPECT_TRUE(of(token).is_integer()) << token;
  }
  for (const auto* token : {"1.5", "1e-1", "1.05e1", "4.99999999999999999999"}) {
    EXPECT_FALSE(of(token).is_integer()) << token;
  }
}

TEST(NumberTest, DividesIntegersExactly) {
  EXPECT_TRUE(of("0").is_multiple_of(of("3")));
  EXPECT_TRUE(of("-9").is_multiple_of(of("3")));
  EXPECT_FALSE(of("10").is_multiple_of(of("3")));
  EXPECT_TRUE(of("9007199254740993").is_multiple_of(of("3")));
  EXPECT_FALSE(of("9007199254740992").is_multiple_of(of("3")));
}

TEST(NumberTest, DividesOthersUpToTheRoundingOfDoubles) {
  EXPECT_TRUE(of("0.3").is_multiple_of(of("0.1")));
  EXPECT_TRUE(of("19.99").is_multiple_of(of("0.01")));
  EXPECT_TRUE(of("1234567.89").is_multiple_of(of("0.01")));
  EXPECT_TRUE(of("0.000003").is_multiple_of(of("0.000001")));
  EXPECT_FALSE(of("0.075").is_multiple_of(of("0.01")));
  EXPECT_FALSE(of("1234567.891").is_multiple_of(of("0.01")));
  EXPECT_FALSE(of("1e-30").is_multiple_of(of("1")));
  EXPECT_TRUE(of("1e300").is_multiple_of(of("7"))) << "too large to tell";
  EXPECT_TRUE(of("1e999999999999999999999").is_multiple_of(of("5")));
}

TEST(NumberTest, KnowsADivisor) {
  for (const auto* token : {"1", "0.01", "1e100"}) EXPECT_TRUE(of(token).is_divisor()) << token;
  for (const auto* token : {"0", "-1", "1e-400", "1e400"}) {
    EXPECT_FALSE(of(token).is_divisor()) << token;
  }
}

TEST(NumberTest, ReadsCounts) {
  EXPECT_EQ(of("2.0").as_count(), 2U);
  EXPECT_EQ(of("1e3").as_count(), 1000U);
  EXPECT_EQ(of("9223372036854775807").as_count(), 9223372036854775807U);
  EXPECT_EQ(of("9223372036854775808").as_count(), INT64_MAX);
  EXPECT_EQ(of("1e400").as_count(), INT64_MAX);
  EXPECT_EQ(of("-1").as_count(), std::nullopt);
  EXPECT_EQ(of("1.5").as_count(), std::nullopt);
}

}  // namespace
}  // namespace perdure::schema
