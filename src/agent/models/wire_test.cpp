// What all formats share: forms that every provider takes, and words of errors.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <string>

#include "core/api/raw_json.hpp"
#include "core/api/text.hpp"
#include "models/dialect.hpp"
#include "perdure/core/json.hpp"

namespace perdure {
namespace {

TEST(Wire, NamesAndIdsThatFitStayAsTheyAre) {
  EXPECT_EQ(wire::tool_name("read_file-2"), "read_file-2");
  EXPECT_EQ(wire::call_id("toolu_01-A"), "toolu_01-A");
  EXPECT_EQ(wire::call_args(R"({"a":  1})"), R"({"a":  1})");
}

TEST(Wire, WhatDoesNotFitIsPutIntoAFormThatDoes) {
  EXPECT_EQ(wire::tool_name("a tool!"), "a_tool_");
  EXPECT_EQ(wire::tool_name(""), "unnamed");
  EXPECT_EQ(wire::tool_name(std::string(100, 'x')), std::string(64, 'x'));
  EXPECT_EQ(wire::call_args(" "), "{}");
  EXPECT_EQ(wire::call_args("{\"a"), R"({"malformed_arguments":"{\"a"})");
  EXPECT_EQ(wire::call_args("[1]"), R"({"malformed_arguments":"[1]"})");
  EXPECT_NE(wire::call_id("a.b"), wire::call_id("a:b"));
  EXPECT_EQ(wire::call_id("a.b"), wire::call_id("a.b"));
}

RC_GTEST_PROP(Wire, EveryFormFits, (const std::string& text)) {
  RC_ASSERT(wire::tool_name(wire::tool_name(text)) == wire::tool_name(text));
  RC_ASSERT(wire::call_id(wire::call_id(text)) == wire::call_id(text));
  RC_ASSERT(split_object(wire::call_args(text)).has_value());
}

TEST(Wire, ErrorsAreToldInWhateverFormTheyCome) {
  EXPECT_EQ(wire::error_words(R"({"type":"error","error":{"type":"t","message":"m"}})"), "t: m");
  EXPECT_EQ(wire::error_words(R"({"error":{"code":"c","message":"m"}})"), "c: m");
  EXPECT_EQ(wire::error_words(R"({"message":"m"})"), "m");
  EXPECT_EQ(wire::error_words(R"({"error":"e"})"), "e");
  EXPECT_EQ(wire::error_words(R"({"detail":"d"})"), R"({"detail":"d"})");
  EXPECT_EQ(wire::error_words("<html>Bad gateway</html>"), "<html>Bad gateway</html>");
  EXPECT_EQ(wire::error_words(""), "");
}

TEST(Wire, WordsAreCutBetweenCharacters) {
  EXPECT_EQ(wire::shortened("short"), "short");
  EXPECT_EQ(wire::shortened(std::string(10'000, 'x')), std::string(500, 'x') + " …");
  EXPECT_EQ(wire::shortened(std::string(499, 'x') + "éé"), std::string(499, 'x') + " …");
}

TEST(Wire, OnlyWhatIsNoTextIsReplaced) {
  std::string room;
  const std::string good = "aé€\xF0\x9F\x98\x80\n";
  EXPECT_EQ(wire::as_text(good, room).data(), good.data()) << "not even copied";
  const std::string mark = "\xEF\xBF\xBD";
  EXPECT_EQ(wire::as_text(good + "\xF0\x9F\x98" + good + "\xFF\xFE" + good, room),
            good + mark + good + mark + mark + good);
  EXPECT_EQ(wire::as_text("\xED\xA0\xBDz\x80\xC3", room), mark + "z" + mark + mark);
}

RC_GTEST_PROP(Wire, WhateverComesBecomesText, (const std::string& bytes)) {
  std::string room;
  const std::string text(wire::as_text(bytes, room));
  RC_ASSERT(is_utf8(text));
  RC_ASSERT(wire::as_text(text, room) == text);
}

TEST(Wire, OnlyTheTwoHalvesOfACharacterAreJoined) {
  std::string text = "a\xED\xA0\xBD";
  wire::append(text, "\xED\xB8\x80");
  EXPECT_EQ(text, "a\xF0\x9F\x98\x80");
  std::string other = "a\xED\xA0\xBD";
  wire::append(other, "b");
  wire::append(other, "\xED\xB8\x80");
  EXPECT_EQ(other,
            "a\xED\xA0\xBD"
            "b\xED\xB8\x80");
}

TEST(Wire, NumbersFromOutsideAreNeverNegative) {
  const Json json = *parse_json(R"({"a":-3,"b":2.5,"c":"7","d":9,"f":9223372036854775807})");
  EXPECT_EQ(wire::number_in(json, "a"), 0);
  EXPECT_EQ(wire::number_in(json, "b"), 0);
  EXPECT_EQ(wire::number_in(json, "c"), 0);
  EXPECT_EQ(wire::number_in(json, "d"), 9);
  EXPECT_EQ(wire::number_in(json, "e"), 0);
  EXPECT_LT(wire::number_in(json, "f"), 9223372036854775807 / 1000) << "sums must not overflow";
  for (const char* const key : {"a", "b", "c", "e"}) EXPECT_FALSE(wire::has_count(json, key));
  EXPECT_TRUE(wire::has_count(json, "d"));
}

}  // namespace
}  // namespace perdure
