// JSON text in slices: nothing of it is lost, and nothing else is taken for JSON.

#include "core/api/raw_json.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <string>
#include <string_view>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"

namespace perdure {
namespace {

TEST(RawJson, KeepsTheTextAsItIs) {
  const std::string text = "{ \"a\" : 1.0,\n \"\\u0061\" : \"\\/\" }";
  const auto raw = RawJson::from_text(text);
  ASSERT_TRUE(raw);
  EXPECT_EQ(raw->text(), text);
  EXPECT_EQ(raw->value().find("a")->as_string()->c_str(), std::string("/"));
}

TEST(RawJson, RefusesWhatIsNotJson) {
  const auto raw = RawJson::from_text("{\"a\":}");
  ASSERT_FALSE(raw);
  EXPECT_EQ(raw.error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(raw.error().message, "not JSON: byte 5: expected a value");
}

TEST(RawJson, ByItselfIsNull) { EXPECT_EQ(RawJson().text(), "null"); }

TEST(SplitObject, GivesSlicesOfTheText) {
  const std::string text = " { \"a\" : [ 1 , 2 ] , \"b\\n\" : \"x\\u00e9\" , \"a\":{ } } ";
  const auto members = split_object(text);
  ASSERT_TRUE(members);
  const std::vector<RawMember> expected = {
      {"a", "[ 1 , 2 ]"}, {"b\n", "\"x\\u00e9\""}, {"a", "{ }"}};
  EXPECT_EQ(*members, expected);
}

TEST(SplitObject, OfNoMembersIsEmpty) { EXPECT_TRUE(split_object("{ }").value().empty()); }

TEST(SplitArray, GivesSlicesOfTheText) {
  const auto elements = split_array("[ 1.0 ,[ ], \"],[\" ]");
  ASSERT_TRUE(elements);
  EXPECT_EQ(*elements, (std::vector<std::string_view>{"1.0", "[ ]", "\"],[\""}));
}

TEST(Split, RefusesOtherKindsAndBrokenText) {
  for (const std::string_view text : {"", "null", "[]", "{", "{\"a\"}", "{\"a\":1,}", "{\"a\":1} x",
                                      "{\"a\":01}", "{a:1}", "{\"a\":\"\xff\"}"}) {
    EXPECT_FALSE(split_object(text)) << text;
  }
  for (const std::string_view text : {"", "{}", "[", "[1,]", "[1 2]", "[1]]"}) {
    EXPECT_FALSE(split_array(text)) << text;
  }
}

TEST(Split, NestsAsDeepAsTheParserReads) {
  for (const std::size_t depth : {json_depth_max, json_depth_max + 1}) {
    const std::string text = std::string(depth, '[') + std::string(depth, ']');
    EXPECT_EQ(split_array(text).has_value(), is_json(text)) << depth;
  }
}

TEST(ReadParts, GivesEachPartBeforeItsOwn) {
  const std::string text = R"( {"a" : [ {"b\n":1} , 2 ], "c":[1,{}], "d":{} } )";
  const auto parts = read_parts(text);
  ASSERT_TRUE(parts);
  std::vector<std::string> found;
  for (const RawPart& part : parts->list) {
    found.push_back(std::string(part.key) + "=" + std::string(part.value) + "<" +
                    std::to_string(part.end));
  }
  const std::string whole = text.substr(1, text.size() - 2);
  const std::vector<std::string> expected = {"=" + whole + "<7",
                                             "a=[ {\"b\\n\":1} , 2 ]<5",
                                             "={\"b\\n\":1}<4",
                                             "b\n=1<4",
                                             "=2<5",
                                             "c=[1,{}]<6",
                                             "d={}<7"};
  EXPECT_EQ(found, expected);
}

TEST(ReadParts, RefusesWhatSplitObjectRefuses) {
  const std::string deep = std::string(json_depth_max, '[') + std::string(json_depth_max, ']');
  for (const std::string& text :
       {std::string(), std::string("[{}]"), std::string("{\"a\":[{]}"),
        std::string("{\"a\":{\"b\"}}"), std::string("{} x"), "{\"a\":" + deep + "}",
        "{\"a\":[{\"b\":" + deep.substr(1) + "}]}"}) {
    ASSERT_FALSE(split_object(text)) << text;
    EXPECT_EQ(read_parts(text).error().message, split_object(text).error().message) << text;
  }
}

TEST(ObjectWriter, WritesWhatSplitObjectReads) {
  ObjectWriter writer;
  writer.add("text", Json("a\"b"));
  writer.add_raw("raw", "{ \"x\" : 1 }");
  EXPECT_EQ(writer.finish(), R"({"text":"a\"b","raw":{ "x" : 1 }})");
  EXPECT_EQ(writer.finish(), "{}");
}

// An object put together from its slices is the same value, and its slices are the same text.
RC_GTEST_PROP(ObjectWriter, PutsSlicesTogetherAgain, (const std::vector<std::string>& keys)) {
  ObjectWriter writer;
  for (const auto& key : keys) writer.add(key, Json(key));
  const std::string text = writer.finish();
  const auto members = split_object(text);
  RC_ASSERT(members.has_value());
  ObjectWriter again;
  for (const auto& member : *members) again.add_raw(member.key, member.value);
  RC_ASSERT(again.finish() == text);
}

}  // namespace
}  // namespace perdure
