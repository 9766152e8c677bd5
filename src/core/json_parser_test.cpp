// JSON text: what is read, what is refused and where, and round trips.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <gtest/gtest.h>
#include <ostream>
#include <rapidcheck/gtest.h>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/api/json_text.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"

namespace perdure {

void showValue(const Json& json, std::ostream& out) { out << json.text(); }

namespace {

using namespace std::string_literals;

std::string nested(std::size_t depth, std::string_view open, std::string_view close) {
  std::string text;
  for (std::size_t i = 0; i < depth; ++i) text += open;
  for (std::size_t i = 0; i < depth; ++i) text += close;
  return text;
}

// is_json must say the same, so every case asks both.
void expect_read(std::string_view text) {
  EXPECT_TRUE(parse_json(text)) << text;
  EXPECT_TRUE(is_json(text)) << text;
}

void expect_text_refused(std::string_view text) {
  EXPECT_FALSE(parse_json(text)) << text;
  EXPECT_FALSE(is_json(text)) << text;
}

std::string refusal(std::string_view text) {
  const auto json = parse_json(text);
  if (json) return "read";
  EXPECT_EQ(json.error().code, ErrorCode::invalid_argument);
  return json.error().message;
}

TEST(JsonParser, EveryKindOfValueIsRead) {
  for (const std::string_view text :
       {"null", "true", "false", "0", "-0", "-1.5e-7", "\"\"", "[]", "{}", " [ ] ", "\t\n\r {\n}\n",
        "[1,\"a\",null,[true],{\"b\":{}}]", R"({"":0})", R"("\"\\\/\b\f\n\r\t\u00e9")", "\"\x7f\"",
        "\"\\u0000\"", "123456789012345678901234567890", "1e400"}) {
    expect_read(text);
  }
}

TEST(JsonParser, NearMissesAreRefused) {
  for (const std::string& text : {""s,
                                  " "s,
                                  "nul"s,
                                  "nulll"s,
                                  "True"s,
                                  "tru"s,
                                  "-"s,
                                  "01"s,
                                  "1."s,
                                  ".1"s,
                                  "+1"s,
                                  "1e"s,
                                  "NaN"s,
                                  "Infinity"s,
                                  "-Infinity"s,
                                  "0x10"s,
                                  "1 2"s,
                                  "[1,]"s,
                                  "[,1]"s,
                                  "[1 2]"s,
                                  "[1,,2]"s,
                                  "["s,
                                  "]"s,
                                  "[1"s,
                                  "[}"s,
                                  "{"s,
                                  "}"s,
                                  "{\"a\"}"s,
                                  "{\"a\":}"s,
                                  "{\"a\":1,}"s,
                                  "{,}"s,
                                  "{a:1}"s,
                                  "{'a':1}"s,
                                  "{1:1}"s,
                                  "{\"a\" 1}"s,
                                  "{\"a\":1 \"b\":2}"s,
                                  "'a'"s,
                                  "\"a"s,
                                  "\"a\\\""s,
                                  "\"\\x\""s,
                                  "\"\\u12g4\""s,
                                  "\"\\u123\""s,
                                  "\"\\ud83d\\u12\""s,
                                  "\"\\"s,
                                  "\"\\u"s,
                                  "\"a\nb\""s,
                                  "\"a\tb\""s,
                                  "\"\0\""s,
                                  "[]\0"s,
                                  "\xEF\xBB\xBF[]"s,
                                  "[1]//x"s,
                                  "/**/1"s,
                                  "\"a\"b"s,
                                  "\f1"s,
                                  "\u00a0"s,
                                  "[\"a\",\n4\n,1,"s,
                                  "{\"a\":\"b\"}#"s}) {
    expect_text_refused(text);
  }
}

TEST(JsonParser, OnlyStrictUtf8IsRead) {
  for (const std::string_view well :
       {"\xC2\x80", "\xDF\xBF", "\xE0\xA0\x80", "\xED\x9F\xBF", "\xEE\x80\x80", "\xEF\xBF\xBF",
        "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF"}) {
    expect_read("\"" + std::string(well) + "\"");
    expect_text_refused("\"" + std::string(well.substr(0, well.size() - 1)) + "\"");
    expect_text_refused(well);
  }
  for (const std::string_view ill :
       {"\x80", "\xBF", "\xC0\x80", "\xC1\xBF", "\xE0\x80\x80", "\xE0\x9F\xBF", "\xED\xA0\x80",
        "\xED\xBF\xBF", "\xF0\x80\x80\x80", "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80",
        "\xF5\x80\x80\x80", "\xFF", "\xE2\x82\xC0", "\xC3\x28"}) {
    expect_text_refused("\"" + std::string(ill) + "\"");
    expect_text_refused("\"plain text before it, and \u20ac " + std::string(ill) + " after\"");
  }
}

TEST(JsonParser, EveryByteIsJudgedWhereverItStandsInARun) {
  // Runs are scanned eight bytes at a time: no place within a word may be special.
  for (std::size_t at = 0; at < 20; ++at) {
    for (int byte = 1; byte < 256; ++byte) {
      std::string text = "\"" + std::string(20, 'x') + "\"";
      text[1 + at] = static_cast<char>(byte);
      const bool is_plain = byte >= 0x20 && byte < 0x80 && byte != '"' && byte != '\\';
      ASSERT_EQ(is_json(text), is_plain) << byte << " at " << at;
    }
  }
}

TEST(JsonParser, EscapesBecomeTheCharactersTheyStandFor) {
  const auto string = [](std::string_view text) { return *parse_json(text).value().as_string(); };
  EXPECT_EQ(string(R"("\"\\\/\b\f\n\r\t")"), "\"\\/\b\f\n\r\t");
  EXPECT_EQ(string(R"("\u0041\u00e9\u20AC\ud83d\ude00")"), "A\u00e9\u20ac\U0001F600");
  EXPECT_EQ(string(R"("\udbff\udfff")"), "\U0010FFFF");
  EXPECT_EQ(string(R"("\u0000")"), "\0"s);
}

TEST(JsonParser, SurrogatesPairOnlyInOrder) {
  const auto string = [](std::string_view text) { return *parse_json(text).value().as_string(); };
  EXPECT_EQ(string(R"("\ud83dA")"),
            "\xED\xA0\xBD"
            "A");
  EXPECT_EQ(string(R"("\ud83d\u0041")"),
            "\xED\xA0\xBD"
            "A");
  EXPECT_EQ(string(R"("\ud83d\n")"), "\xED\xA0\xBD\n");
  EXPECT_EQ(string(R"("\ud83d\ud83d\ude00")"), "\xED\xA0\xBD\U0001F600");
  EXPECT_EQ(string(R"("\ude00\ud83d")"), "\xED\xB8\x80\xED\xA0\xBD");
}

TEST(JsonParser, NestingEndsAtTheLimit) {
  expect_read(nested(json_depth_max, "[", "]"));
  expect_text_refused(nested(json_depth_max + 1, "[", "]"));
  const std::string inside = nested(json_depth_max, "{\"a\":", "}");
  expect_read(inside.substr(0, inside.find('}')) + "1" + inside.substr(inside.find('}')));
  expect_text_refused(nested(json_depth_max + 1, "{\"a\":", "}"));
  expect_text_refused(std::string(1'000'000, '['));
}

TEST(JsonParser, TheMessageSaysWhereAndWhatWasExpected) {
  EXPECT_EQ(refusal(""), "not JSON: byte 0: expected a value");
  EXPECT_EQ(refusal("[1 2]"), "not JSON: byte 3: expected ',' or ']'");
  EXPECT_EQ(refusal("{\"a\" 1}"), "not JSON: byte 5: expected ':'");
  EXPECT_EQ(refusal("{a:1}"), "not JSON: byte 1: expected a key in quotes");
  EXPECT_EQ(refusal("{} x"), "not JSON: byte 3: expected the end of the text");
  EXPECT_EQ(refusal("\"ab\xff\""), "not JSON: byte 3: expected valid UTF-8");
  EXPECT_EQ(refusal("\"abc"), "not JSON: byte 4: expected the closing quote of a string");
  EXPECT_EQ(refusal("[1.x]"), "not JSON: byte 3: expected a digit after the decimal point");
  EXPECT_EQ(refusal(std::string(257, '[')), "not JSON: byte 256: expected less deep nesting");
}

std::string wtf8(char32_t code) {
  std::string out;
  const auto put = [&out](char32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0 | (code >> 6));
    put(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    put(0xE0 | (code >> 12));
    put(0x80 | ((code >> 6) & 0x3F));
    put(0x80 | (code & 0x3F));
  } else {
    put(0xF0 | (code >> 18));
    put(0x80 | ((code >> 12) & 0x3F));
    put(0x80 | ((code >> 6) & 0x3F));
    put(0x80 | (code & 0x3F));
  }
  return out;
}

// Low surrogates only: a high one before them would read back as the pair it is.
rc::Gen<std::string> any_string() {
  const auto code = rc::gen::oneOf(
      rc::gen::inRange<char32_t>(0, 0x80), rc::gen::inRange<char32_t>(0x80, 0xD800),
      rc::gen::inRange<char32_t>(0xDC00, 0x10000), rc::gen::inRange<char32_t>(0x10000, 0x110000));
  return rc::gen::map(rc::gen::container<std::vector<char32_t>>(code), [](const auto& codes) {
    std::string text;
    for (const char32_t c : codes) text += wtf8(c);
    return text;
  });
}

rc::Gen<Json> any_scalar() {
  const auto number = rc::gen::map(
      rc::gen::suchThat(rc::gen::arbitrary<double>(), [](double d) { return std::isfinite(d); }),
      [](double d) { return Json(d); });
  return rc::gen::oneOf(
      rc::gen::just(Json()),
      rc::gen::map(rc::gen::arbitrary<bool>(), [](bool b) { return Json(b); }),
      rc::gen::map(rc::gen::arbitrary<std::int64_t>(), [](std::int64_t i) { return Json(i); }),
      number, rc::gen::map(any_string(), [](std::string s) { return Json(std::move(s)); }));
}

rc::Gen<Json> any_json(int depth) {
  if (depth == 0) return any_scalar();
  const auto inner = any_json(depth - 1);
  return rc::gen::oneOf(
      any_scalar(),
      rc::gen::map(rc::gen::container<Json::Array>(inner),
                   [](Json::Array array) { return Json(std::move(array)); }),
      rc::gen::map(rc::gen::container<Json::Object>(rc::gen::pair(any_string(), inner)),
                   [](Json::Object object) { return Json(std::move(object)); }));
}

RC_GTEST_PROP(JsonRoundTrip, WhatIsWrittenReadsBackEqual, ()) {
  const Json json = *rc::gen::resize(20, any_json(3));
  const std::string text = json.text();
  RC_ASSERT(is_json(text));
  const auto again = parse_json(text);
  RC_ASSERT(again.has_value());
  RC_ASSERT(*again == json);
  RC_ASSERT(again->text() == text);
}

RC_GTEST_PROP(JsonRoundTrip, ADoubleReadsBackAsItself, (double value)) {
  RC_PRE(std::isfinite(value));
  RC_ASSERT(parse_json(Json(value).text()).value().as_double() == value);
}

RC_GTEST_PROP(JsonRoundTrip, ADamagedTextIsJudgedAlikeAndReadsBackIfItIsStillJson, ()) {
  std::string text = (*rc::gen::resize(12, any_json(2))).text();
  const auto at = *rc::gen::inRange<std::size_t>(0, text.size());
  text[at] = *rc::gen::arbitrary<char>();
  const auto json = parse_json(text);
  RC_ASSERT(is_json(text) == json.has_value());
  if (json) RC_ASSERT(parse_json(json->text()).value() == *json);
}

RC_GTEST_PROP(JsonRoundTrip, NoPrefixOfAContainerIsJson, ()) {
  const std::string text = Json(Json::Array{*rc::gen::resize(10, any_json(2))}).text();
  const auto bytes = *rc::gen::inRange<std::size_t>(0, text.size());
  RC_ASSERT(!is_json(text.substr(0, bytes)));
}

TEST(ForeignJson, MayHaveManyBytesAndNotManyValues) {
  const auto list_of = [](std::size_t values) {
    std::string text = "[0";
    while (--values > 0) text += ",0";
    return text + "]";
  };
  EXPECT_TRUE(parse_foreign_json(list_of(json_values_max)));
  const auto refused = parse_foreign_json(list_of(json_values_max + 1));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
  EXPECT_TRUE(parse_json(list_of(json_values_max + 1)));
  std::string prose(3 * json_values_max, ',');
  EXPECT_TRUE(parse_foreign_json("[\"" + prose + "\\\"" + prose + "\"]"));
  EXPECT_TRUE(has_too_many_values("[\"\"" + prose));
}

}  // namespace
}  // namespace perdure
