// Words without quotes: what everybody reads alike, and what nobody may rely on.

#include <gtest/gtest.h>
#include <optional>
#include <string>
#include <string_view>

#include "file/yaml_document.hpp"
#include "perdure/core/json.hpp"

namespace perdure::agent_file {
namespace {

TEST(PlainScalarTest, IsWhatEveryReaderTakesItFor) {
  EXPECT_EQ(plain_scalar(""), Json());
  EXPECT_EQ(plain_scalar("~"), Json());
  EXPECT_EQ(plain_scalar("null"), Json());
  EXPECT_EQ(plain_scalar("true"), Json(true));
  EXPECT_EQ(plain_scalar("false"), Json(false));
  for (const char* number : {"0", "-7", "12.50", "0.000001", "12345678901234567890"}) {
    EXPECT_EQ(plain_scalar(number), Json::number(number).value()) << number;
  }
  for (const char* text : {"refunds", "gpt-5.2", "30s", "1.2.3", "2023-06-01", "/usr/bin", "-", ".",
                           "nope", "10.0.0.1", "e3", "0.5.", "http://a:80", "x: y"}) {
    EXPECT_EQ(plain_scalar(text), Json(text)) << text;
  }
}

TEST(PlainScalarTest, IsNothingWhereReadersDiffer) {
  for (const char* word :
       {"y",    "n",         "yes",  "No",   "ON",     "off",  "True",  "FALSE", "Null", "010",
        "0o17", "0x1F",      "0b11", "1e3",  "1.5E-7", "+1",   "+.5",   ".5",    "5.",   "1_000",
        "1:30", "190:20:30", "-010", ".inf", "-.INF",  ".NaN", "+12.5", "00"}) {
    EXPECT_EQ(plain_scalar(word), std::nullopt) << word;
  }
}

TEST(PlainScalarTest, AWordOfAnyLengthIsReadInNoTime) {
  const std::string digits(1'000'000, '1');
  EXPECT_EQ(plain_scalar(digits), Json::number(digits).value());
  EXPECT_EQ(plain_scalar(digits + "_"), Json(digits + "_"));
}

}  // namespace
}  // namespace perdure::agent_file
