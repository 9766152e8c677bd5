// Decimals are compared and divided without a rounding.

#include "tools/schema/decimal.hpp"

#include <gtest/gtest.h>
#include <string>
#include <string_view>

namespace perdure::schema {
namespace {

Decimal of(std::string_view token) { return Decimal::from_token(token); }

TEST(DecimalTest, IsTheSameHoweverItIsWritten) {
  for (const auto* token : {"10", "1e1", "10.0", "0.1e2", "1000e-2", "1E+1"}) {
    EXPECT_EQ(of(token), of("10")) << token;
    EXPECT_EQ(of(token).text(), of("10").text()) << token;
  }
  for (const auto* token : {"0", "-0", "0.0", "0e9", "-0.000e-7"}) EXPECT_EQ(of(token), of("0"));
}

TEST(DecimalTest, IsOrderedByValueBeyondWhatDoublesTell) {
  EXPECT_LT(of("9007199254740992"), of("9007199254740993"));
  EXPECT_LT(of("0.1"), of("0.10000000000000000001"));
  EXPECT_LT(of("-2"), of("-1.5"));
  EXPECT_LT(of("-1"), of("0"));
  EXPECT_LT(of("0"), of("1e-400"));
  EXPECT_LT(of("1e308"), of("1e400"));
  EXPECT_LT(of("2"), of("10"));
  EXPECT_LT(of("-10"), of("-2"));
}

TEST(DecimalTest, IsAnIntegerByValue) {
  for (const auto* token : {"1", "1.0", "1e2", "1.50e1", "0.0", "-3"}) {
    EXPECT_TRUE(of(token).is_integer()) << token;
  }
  for (const auto* token : {"1.5", "1e-1", "1.05e1"}) EXPECT_FALSE(of(token).is_integer()) << token;
}

TEST(DecimalTest, DividesExactly) {
  EXPECT_TRUE(of("0.3").is_multiple_of(of("0.1")));
  EXPECT_TRUE(of("19.99").is_multiple_of(of("0.01")));
  EXPECT_TRUE(of("1e300").is_multiple_of(of("0.7e1")) == false);
  EXPECT_TRUE(of("7e300").is_multiple_of(of("7")));
  EXPECT_TRUE(of("0").is_multiple_of(of("3")));
  EXPECT_TRUE(of("-9").is_multiple_of(of("3")));
  EXPECT_FALSE(of("0.075").is_multiple_of(of("0.01")));
  EXPECT_FALSE(of("10").is_multiple_of(of("3")));
  EXPECT_TRUE(of("9007199254740993").is_multiple_of(of("3")));
  EXPECT_FALSE(of("9007199254740992").is_multiple_of(of("3")));
  EXPECT_TRUE(of("1e999999999999999999999").is_multiple_of(of("5")));
}

TEST(DecimalTest, ReadsCounts) {
  EXPECT_EQ(of("2.0").as_count(), 2U);
  EXPECT_EQ(of("1e3").as_count(), 1000U);
  EXPECT_EQ(of("9223372036854775807").as_count(), 9223372036854775807U);
  EXPECT_EQ(of("9223372036854775808").as_count(), std::nullopt);
  EXPECT_EQ(of("1e100").as_count(), std::nullopt);
  EXPECT_EQ(of("-1").as_count(), std::nullopt);
}

TEST(DecimalTest, IsShownAsPeopleWriteIt) {
  EXPECT_EQ(of("0.50").plain(), "0.5");
  EXPECT_EQ(of("-12.5e1").plain(), "-125");
  EXPECT_EQ(of("5e-3").plain(), "0.005");
  EXPECT_EQ(of("1e100").plain(), "1e100");
}

}  // namespace
}  // namespace perdure::schema
