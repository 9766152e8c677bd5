// Canonical JSON: the examples of RFC 8785, and where we differ on purpose.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/api/json_text.hpp"
#include "json_number.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"

namespace perdure {
namespace {

using namespace std::string_literals;

std::string canonical(std::string_view text) {
  return canonical_json(parse_json(text).value()).value();
}

void expect_refused(const Json& json) {
  const auto result = canonical_json(json);
  ASSERT_FALSE(result) << *result;
  EXPECT_EQ(result.error().code, ErrorCode::invalid_argument);
}

struct NumberVector {
  std::uint64_t bits;
  std::string_view text;
};

// RFC 8785, appendix B (without NaN and Infinity, which no JSON text holds).
constexpr NumberVector rfc_numbers[] = {
    {0x0000000000000000, "0"},
    {0x8000000000000000, "0"},
    {0x0000000000000001, "5e-324"},
    {0x8000000000000001, "-5e-324"},
    {0x7fefffffffffffff, "1.7976931348623157e+308"},
    {0xffefffffffffffff, "-1.7976931348623157e+308"},
    {0x4340000000000000, "9007199254740992"},
    {0xc340000000000000, "-9007199254740992"},
    {0x4340000000000001, "9007199254740994"},
    {0x4430000000000000, "295147905179352830000"},
    {0x44b52d02c7e14af5, "9.999999999999997e+22"},
    {0x44b52d02c7e14af6, "1e+23"},
    {0x44b52d02c7e14af7, "1.0000000000000001e+23"},
    {0x444b1ae4d6e2ef4e, "999999999999999700000"},
    {0x444b1ae4d6e2ef4f, "999999999999999900000"},
    {0x444b1ae4d6e2ef50, "1e+21"},
    {0x3eb0c6f7a0b5ed8c, "9.999999999999997e-7"},
    {0x3eb0c6f7a0b5ed8d, "0.000001"},
    {0x41b3de4355555553, "333333333.3333332"},
    {0x41b3de4355555554, "333333333.33333325"},
    {0x41b3de4355555555, "333333333.3333333"},
    {0x41b3de4355555556, "333333333.3333334"},
    {0x41b3de4355555557, "333333333.33333343"},
    {0xbecbf647612f3696, "-0.0000033333333333333333"},
    {0x43143ff3c1cb0959, "1424953923781206.2"},
};

TEST(CanonicalNumbers, TheTableOfTheRfcHolds) {
  for (const auto& [bits, text] : rfc_numbers) {
    EXPECT_EQ(es6_number(std::bit_cast<double>(bits)), text);
  }
}

RC_GTEST_PROP(CanonicalNumbers, EveryDoubleReadsBackAsItself, (std::uint64_t bits)) {
  const double value = std::bit_cast<double>(bits);
  RC_PRE(std::isfinite(value));
  const auto json = parse_json(es6_number(value));
  RC_ASSERT(json.has_value());
  RC_ASSERT(json->as_double() == value);
}

TEST(CanonicalNumbers, OneValueHasOneText) {
  for (const std::string_view token : {"1", "1.0", "1e0", "10E-1", "1.000"}) {
    EXPECT_EQ(canonical(token), "1") << token;
  }
  for (const std::string_view token : {"0", "-0", "0.0", "-0e5", "1e-400", "-1e-400"}) {
    EXPECT_EQ(canonical(token), "0") << token;
  }
  EXPECT_EQ(canonical("1e21"), "1e+21");
  EXPECT_EQ(canonical("1000e18"), "1e+21");
  EXPECT_EQ(canonical("1e20"), "100000000000000000000");
  EXPECT_EQ(canonical("-0.0000001"), "-1e-7");
  EXPECT_EQ(canonical("123456.789"), "123456.789");
}

TEST(CanonicalNumbers, IntegersBeyondTwoToThe53KeepEveryDigit) {
  const std::string huge = "1" + std::string(400, '0') + "7";
  for (const std::string& token :
       {"9007199254740991"s, "9007199254740992"s, "9007199254740993"s, "-9007199254740993"s,
        "12345678901234567890"s, "18446744073709551617"s, "1000000000000000000000"s, huge}) {
    EXPECT_EQ(canonical(token), token);
  }
}

RC_GTEST_PROP(CanonicalNumbers, TwoDifferentIntegersNeverBecomeOne,
              (std::uint64_t a, std::uint64_t b)) {
  RC_ASSERT((canonical_json(a).value() == canonical_json(b).value()) == (a == b));
  RC_ASSERT(canonical_json(a).value() == std::to_string(a));
}

TEST(CanonicalJson, TheExampleOfTheRfcHolds) {
  EXPECT_EQ(canonical(R"({
    "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
    "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
    "literals": [null, true, false]
  })"),
            R"({"literals":[null,true,false],)"
            R"("numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],)"
            "\"string\":\"\u20ac$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}");
}

TEST(CanonicalJson, MembersAreSortedByUtf16CodeUnits) {
  EXPECT_EQ(canonical(R"({
    "\u20ac": "Euro Sign",
    "\r": "Carriage Return",
    "\ufb33": "Hebrew Letter Dalet With Dagesh",
    "1": "One",
    "\ud83d\ude00": "Emoji: Grinning Face",
    "\u0080": "Control",
    "\u00f6": "Latin Small Letter O With Diaeresis"
  })"),
            "{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u0080\":\"Control\","
            "\"\u00f6\":\"Latin Small Letter O With Diaeresis\",\"\u20ac\":\"Euro Sign\","
            "\"\U0001F600\":\"Emoji: Grinning Face\","
            "\"\ufb33\":\"Hebrew Letter Dalet With Dagesh\"}");
}

TEST(CanonicalJson, AShorterKeyComesBeforeALongerOneThatBeginsWithIt) {
  EXPECT_EQ(canonical(R"({"ab":1,"":2,"a":3,"b":4,"A":5})"), R"({"":2,"A":5,"a":3,"ab":1,"b":4})");
  // Equal up to the middle of a character, and on both sides of the surrogates.
  EXPECT_EQ(canonical("{\"x\uffff\":1,\"x\U0010ffff\":2,\"x\ud7ff\":3,\"x\ue000\":4}"),
            "{\"x\ud7ff\":3,\"x\U0010ffff\":2,\"x\ue000\":4,\"x\uffff\":1}");
}

TEST(CanonicalJson, OnlyWhatMustBeIsEscaped) {
  EXPECT_EQ(canonical(R"("\u0000\u0008\u0009\u000a\u000b\u000c\u000d\u001f\u007f\/\u2028")"),
            "\"\\u0000\\b\\t\\n\\u000b\\f\\r\\u001f\x7f/\u2028\"");
}

TEST(CanonicalJson, ArraysKeepTheirOrderAndObjectsInThemAreSorted) {
  EXPECT_EQ(canonical(R"( [3, 1, {"b": [], "a": {}}, 2] )"), R"([3,1,{"a":{},"b":[]},2])");
}

RC_GTEST_PROP(CanonicalJson, TheOrderOfMembersDoesNotMatter, (std::vector<std::uint16_t> keys)) {
  std::ranges::sort(keys);
  keys.erase(std::ranges::unique(keys).begin(), keys.end());
  Json::Object object;
  for (const auto key : keys) object.emplace_back(std::to_string(key), key);
  const std::string sorted = canonical_json(object).value();
  std::ranges::reverse(object);
  RC_ASSERT(canonical_json(object).value() == sorted);
  RC_ASSERT(canonical_json(parse_json(sorted).value()).value() == sorted);
}

TEST(CanonicalJson, WhatHasNoSingleMeaningIsRefused) {
  for (const std::string_view text :
       {R"({"a":1,"a":1})", R"([{"a":1,"b":2,"\u0061":3}])", R"("\ud800")", R"({"\udc00":1})",
        "1e400", "[-1e400]", "1.5e999"}) {
    expect_refused(parse_json(text).value());
  }
  expect_refused(Json("\xff"));
}

TEST(CanonicalJson, NestingEndsAtTheLimit) {
  Json json = 1;
  for (std::size_t i = 0; i < json_depth_max; ++i) json = Json(Json::Array{std::move(json)});
  EXPECT_TRUE(canonical_json(json));
  expect_refused(Json(Json::Array{json}));
  expect_refused(Json(Json::Object{{"a", json}}));
}

}  // namespace
}  // namespace perdure
