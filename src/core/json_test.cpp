// The Json value: what it keeps, what it answers, and its text.

#include "perdure/core/json.hpp"

#include <cmath>
#include <cstdint>
#include <gtest/gtest.h>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "perdure/core/error.hpp"

namespace perdure {
namespace {

using namespace std::string_literals;

Json parsed(std::string_view text) { return parse_json(text).value(); }

TEST(Json, ALiteralReadsLikeTheJsonItMakes) {
  const Json json(Json::Object{{"role", "user"},
                               {"turn", 1},
                               {"ok", true},
                               {"cost", 0.25},
                               {"parent", nullptr},
                               {"parts", Json::Array{"a", "b"s, std::string_view("c")}}});
  EXPECT_EQ(
      json.text(),
      R"({"role":"user","turn":1,"ok":true,"cost":0.25,"parent":null,"parts":["a","b","c"]})");
}

// By every compiler: tests/consumers says the same with clang.
TEST(Json, AnArrayInBracesIsACopyAndArrayOfMakesOneOfIt) {
  const Json::Array two{1, 2};
  EXPECT_EQ(Json(Json::Array{Json::Array{1, 2}}).text(), "[1,2]");
  EXPECT_EQ(Json(Json::Array{two}).text(), "[1,2]");
  EXPECT_EQ(Json{two}.text(), "[1,2]");
  EXPECT_EQ(Json(Json::Array::of(two)).text(), "[[1,2]]");
  EXPECT_EQ(Json(Json::Array::of(Json::Array::of(1))).text(), "[[1]]");
  EXPECT_EQ(Json(Json::Array::of()).text(), "[]");
  EXPECT_EQ(Json(Json::Array{}).text(), "[]");
  EXPECT_EQ(Json(Json::Array{two, two}).text(), "[[1,2],[1,2]]");
  EXPECT_EQ(Json(Json::Array{Json(two)}).text(), "[[1,2]]") << "a Json is an element";
  EXPECT_EQ(Json(Json::Array{Json::Object{{"a", 1}}}).text(), R"([{"a":1}])");
  EXPECT_EQ(Json(Json::Array{nullptr}).text(), "[null]");
  EXPECT_EQ(Json(Json::Array(2, 3)).text(), "[2,3]") << "elements, not two times 3";
}

TEST(Json, AnArrayIsMadeOfARangeAndComparedAndMovedAsAVectorIs) {
  const std::vector<std::string> texts = {"a", "b"};
  Json::Array array(texts.begin(), texts.end());
  EXPECT_EQ(Json(array).text(), R"(["a","b"])");
  EXPECT_EQ(array, (Json::Array{"a", "b"}));
  EXPECT_NE(array, (Json::Array{"b", "a"}));
  Json::Array copy = array;
  const Json::Array moved = std::move(array);
  EXPECT_EQ(moved, copy);
  copy = Json::Array{1};
  copy.emplace_back(2);
  EXPECT_EQ(copy, (Json::Array{1, 2}));
  EXPECT_FALSE((std::is_convertible_v<int, Json::Array>)) << "a value alone is no list";
}

TEST(Json, EveryIntegerTypeIsTakenExactly) {
  EXPECT_EQ(Json(std::numeric_limits<std::int64_t>::min()).text(), "-9223372036854775808");
  EXPECT_EQ(Json(std::numeric_limits<std::uint64_t>::max()).text(), "18446744073709551615");
  EXPECT_EQ(Json(std::int8_t{-5}).text(), "-5");
  EXPECT_EQ(Json(std::uint8_t{200}).text(), "200");
  EXPECT_EQ(Json(7L).text(), "7");
  EXPECT_EQ(Json(7ULL).text(), "7");
}

TEST(Json, CharactersAndPointersAreNotTakenForNumbersOrBooleans) {
  EXPECT_FALSE((std::is_constructible_v<Json, char>));
  EXPECT_FALSE((std::is_constructible_v<Json, char32_t>));
  EXPECT_FALSE((std::is_constructible_v<Json, const int*>));
  EXPECT_TRUE(Json("text").is_string());
}

TEST(Json, ADoubleGetsItsShortestToken) {
  EXPECT_EQ(Json(0.1).text(), "0.1");
  EXPECT_EQ(Json(5e-324).text(), "5e-324");
  EXPECT_EQ(Json(-0.0).text(), "-0");
  EXPECT_DEATH((void)Json{std::nan("")}, "NaN");
  EXPECT_DEATH((void)Json{std::numeric_limits<double>::infinity()}, "infinity");
}

TEST(Json, ANumberKeepsItsToken) {
  for (const std::string token : {"1.0", "1e400", "12345678901234567890", "-0", "0.10", "1E+2"}) {
    EXPECT_EQ(parsed(token).text(), token);
    EXPECT_EQ(Json::number(token).value().text(), token);
    EXPECT_EQ(*parsed(token).number_token(), token);
  }
}

TEST(Json, WhatIsNoTokenIsNoNumber) {
  for (const std::string token : {"", "-", "01", "1.", ".5", "+1", "1e", "1e+", "0x1", "1 ", " 1",
                                  "NaN", "Infinity", "1,", "--1", "1.5.5"}) {
    const auto number = Json::number(token);
    ASSERT_FALSE(number) << token;
    EXPECT_EQ(number.error().code, ErrorCode::invalid_argument);
  }
}

TEST(Json, IntegersAreReadExactlyOrNotAtAll) {
  EXPECT_EQ(parsed("-9223372036854775808").as_int64(), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(parsed("9223372036854775808").as_int64(), std::nullopt);
  EXPECT_EQ(parsed("18446744073709551615").as_uint64(), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(parsed("18446744073709551616").as_uint64(), std::nullopt);
  EXPECT_EQ(parsed("-1").as_uint64(), std::nullopt);
  EXPECT_EQ(parsed("-0").as_int64(), 0);
  EXPECT_EQ(parsed("-0").as_uint64(), 0u);
  EXPECT_EQ(parsed("1.0").as_int64(), std::nullopt);
  EXPECT_EQ(parsed("1e2").as_int64(), std::nullopt);
}

TEST(Json, DoublesAreTheNearestOnes) {
  EXPECT_EQ(parsed("0.1").as_double(), 0.1);
  EXPECT_EQ(parsed("9007199254740993").as_double(), 9007199254740992.0);
  EXPECT_EQ(parsed("4.9406564584124654e-324").as_double(), 5e-324);
  EXPECT_EQ(parsed("1.7976931348623157e308").as_double(), std::numeric_limits<double>::max());
  EXPECT_EQ(parsed("0e999999999999").as_double(), 0.0);
}

TEST(Json, ANumberTooLargeForADoubleIsNoneAndATooSmallOneIsZero) {
  const std::string zeros(400, '0');
  for (const std::string& token : {"1e400"s, "-1e400"s, "1e99999999999999999999"s, "1" + zeros,
                                   "1" + zeros + "e-10", "0." + zeros + "1e1000"}) {
    EXPECT_EQ(parsed(token).as_double(), std::nullopt) << token;
  }
  for (const std::string& token : {"1e-400"s, "-1e-400"s, "1e-99999999999999999999"s,
                                   "0." + zeros + "1", "1" + zeros + "e-1000"}) {
    EXPECT_EQ(parsed(token).as_double(), 0.0) << token;
  }
  EXPECT_TRUE(std::signbit(*parsed("-1e-400").as_double()));
}

TEST(Json, AnotherKindAnswersWithNothing) {
  const Json text("x");
  EXPECT_EQ(text.as_bool(), std::nullopt);
  EXPECT_EQ(text.as_int64(), std::nullopt);
  EXPECT_EQ(text.as_uint64(), std::nullopt);
  EXPECT_EQ(text.as_double(), std::nullopt);
  EXPECT_EQ(text.number_token(), nullptr);
  EXPECT_EQ(text.as_array(), nullptr);
  EXPECT_EQ(text.as_object(), nullptr);
  EXPECT_EQ(text.find("x"), nullptr);
  EXPECT_EQ(Json(1).as_string(), nullptr);
  EXPECT_EQ(Json(false).as_bool(), false);
  EXPECT_TRUE(Json().is_null());
}

TEST(Json, OfDuplicateKeysAllAreKeptAndTheLastOneIsFound) {
  Json json = parsed(R"({"a":1,"b":2,"a":3})");
  EXPECT_EQ(json.text(), R"({"a":1,"b":2,"a":3})");
  ASSERT_NE(json.find("a"), nullptr);
  EXPECT_EQ(json.find("a")->as_int64(), 3);
  EXPECT_EQ(json.find("c"), nullptr);

  json.set("a", 4);
  EXPECT_EQ(json.text(), R"({"a":1,"b":2,"a":4})");
}

TEST(Json, SettingReplacesInPlaceOrAppends) {
  Json json;
  json.set("a", 1);
  json.set("b", 2);
  json.set("a", "x");
  EXPECT_EQ(json.text(), R"({"a":"x","b":2})");
  Json array{Json::Array{}};
  EXPECT_DEATH(array.set("a", 1), "no object");
}

TEST(Json, AMemberMayBeSetToACopyOfTheWhole) {
  Json json = parsed(R"({"a":1})");
  json.set("b", json);
  EXPECT_EQ(json.text(), R"({"a":1,"b":{"a":1}})");
}

TEST(Json, InsidesCanBeChanged) {
  Json json = parsed(R"({"list":[1]})");
  Json& list = json.as_object()->front().second;
  list.as_array()->push_back(2);
  EXPECT_EQ(json.text(), R"({"list":[1,2]})");
}

TEST(Json, EqualityIsExact) {
  EXPECT_EQ(parsed(R"({"a":[1,null]})"), parsed(R"( { "a" : [ 1 , null ] } )"));
  EXPECT_EQ(parsed(R"("\u0041")"), Json("A"));
  EXPECT_NE(parsed("1"), parsed("1.0"));
  EXPECT_NE(parsed("1"), parsed("\"1\""));
  EXPECT_NE(parsed(R"({"a":1,"b":2})"), parsed(R"({"b":2,"a":1})"));
  EXPECT_NE(Json(Json::Array{}), Json(Json::Object{}));
}

TEST(JsonArguments, AreReadAsTheirTypes) {
  const Json args = parsed(R"({"yes":true,"low":-9223372036854775808,"high":18446744073709551615,
                               "half":0.5,"path":"a.txt","list":[1],"twice":1,"twice":2})");
  EXPECT_EQ(args.get<bool>("yes"), true);
  EXPECT_EQ(args.get<std::int64_t>("low"), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(args.get<std::uint64_t>("high"), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(args.get<double>("half"), 0.5);
  EXPECT_EQ(args.get<std::string>("path"), "a.txt");
  EXPECT_EQ(args.get<Json>("list"), Json(Json::Array::of(1)));
  EXPECT_EQ(args.get<std::int64_t>("twice"), 2) << "as find() sees it";
}

TEST(JsonArguments, ThatCannotBeReadAreNamedWithTheReason) {
  const Json args = parsed(R"({"text":"7","none":null,"half":1.5,"minus":-1,"huge":1e400,
                               "list":[],"map":{},"yes":true})");
  const auto failed = [](const auto& result) {
    if (result) return Error{ErrorCode::corrupted, "it was read", ""};
    return result.error();
  };
  const auto refused = [](std::string message, std::string key) {
    return Error{ErrorCode::invalid_argument, std::move(message), std::move(key)};
  };
  EXPECT_EQ(failed(args.get<std::string>("name")),
            refused(R"(argument "name" is missing)", "name"));
  EXPECT_EQ(failed(args.get<Json>("name")), refused(R"(argument "name" is missing)", "name"));
  EXPECT_EQ(failed(args.get<std::int64_t>("text")),
            refused(R"(argument "text" is a string, not an integer)", "text"));
  EXPECT_EQ(failed(args.get<std::int64_t>("none")),
            refused(R"(argument "none" is null, not an integer)", "none"));
  EXPECT_EQ(failed(args.get<std::int64_t>("half")),
            refused(R"(argument "half" is a number, but not an integer of 64 bits)", "half"));
  EXPECT_EQ(failed(args.get<std::uint64_t>("minus")),
            refused(R"(argument "minus" is a number, but not an integer of 64 bits that is not )"
                    "negative",
                    "minus"));
  EXPECT_EQ(failed(args.get<std::uint64_t>("list")),
            refused(R"(argument "list" is an array, not an integer)", "list"));
  EXPECT_EQ(failed(args.get<double>("huge")),
            refused(R"(argument "huge" is a number, but not one that a double can hold)", "huge"));
  EXPECT_EQ(failed(args.get<double>("text")),
            refused(R"(argument "text" is a string, not a number)", "text"));
  EXPECT_EQ(failed(args.get<bool>("minus")),
            refused(R"(argument "minus" is a number, not a boolean)", "minus"));
  EXPECT_EQ(failed(args.get<std::string>("yes")),
            refused(R"(argument "yes" is a boolean, not a string)", "yes"));
  EXPECT_EQ(failed(args.get<std::string>("map")),
            refused(R"(argument "map" is an object, not a string)", "map"));
  EXPECT_EQ(
      failed(Json(Json::Array::of(1)).get<bool>("yes")),
      refused(R"(there is no argument "yes": the arguments are an array, not an object)", "yes"));
}

TEST(JsonText, StringsHaveTheFewestEscapes) {
  EXPECT_EQ(Json("\"\\\b\t\n\f\r/\x7f\x01\x1f").text(), R"("\"\\\b\t\n\f\r/)"
                                                        "\x7f"
                                                        R"(\u0001\u001f")");
  EXPECT_EQ(Json("a\0b"s).text(), R"("a\u0000b")");
  EXPECT_EQ(Json("\u20ac\U0001F600").text(), "\"\u20ac\U0001F600\"");
}

TEST(JsonText, ALoneSurrogateIsWrittenBackAsItsEscape) {
  for (const std::string_view text :
       {R"("\ud83d")", R"("\ude00x")", R"("\ude00\ud83d")", R"("\udfff\ud800")"}) {
    EXPECT_EQ(parsed(text).text(), text);
  }
  EXPECT_EQ(*parsed(R"("\ud83d")").as_string(), "\xED\xA0\xBD");
}

TEST(JsonText, WhatIsNotUtf8IsWrittenAsTheReplacementCharacter) {
  EXPECT_EQ(Json("a\xff\xc3").text(), "\"a\uFFFD\uFFFD\"");
  EXPECT_TRUE(is_json(Json("\xed\xa0").text()));
  EXPECT_TRUE(is_json(Json(Json::Object{{"\xf5", 1}}).text()));
}

TEST(JsonText, EmptyContainersAreEmpty) {
  EXPECT_EQ(Json(Json::Array{}).text(), "[]");
  EXPECT_EQ(Json(Json::Object{}).text(), "{}");
  EXPECT_EQ(Json(Json::Array{Json::Object{}}).text(), "[{}]");
}

}  // namespace
}  // namespace perdure
