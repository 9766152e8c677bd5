// Messages: their JSON, what is kept of what is not known, what is refused.

#include "perdure/runtime/message.hpp"

#include <chrono>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <string>
#include <string_view>

#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/raw_json.hpp"
#include "perdure/core/time.hpp"

namespace perdure {
namespace {

const Timestamp noon = std::chrono::sys_days{std::chrono::year{2026} / 11 / 15};

TEST(Message, HasTheShapeOfTheBooksChapter) {
  Message message = assistant_says("Hello");
  message.id = "m1";
  message.created_at = noon;
  message.blocks.emplace_back(
      ToolCallBlock{.id = "c1", .name = "pay", .args = R"({ "to" : 1.0 })"});
  EXPECT_EQ(to_json(message),
            R"({"id":"m1","role":"assistant","created_at":"2026-11-15T00:00:00.000Z","blocks":[)"
            R"({"kind":"text","text":"Hello"},)"
            R"({"kind":"tool_call","id":"c1","name":"pay","args":{ "to" : 1.0 }}]})");
}

TEST(Message, KeepsWhatItDoesNotKnowAsItIs) {
  const std::string text =
      R"({"id":"m","role":"user","created_at":"2026-11-15T00:00:00.000Z","blocks":[)"
      R"({"kind":"text","text":"a","cache":{ "ttl" : 1.50 }},)"
      R"({"kind":"image","data":"\u0041"}],"vendor":[ 1 ]})";
  const auto message = message_from_json(text);
  ASSERT_TRUE(message) << message.error().message;
  EXPECT_EQ(to_json(*message), text);
}

TEST(Message, KeepsReasoningMetadataByteForByte) {
  const std::string signature = "{ \"signature\" : \"\\u0065\\/==\" , \"n\" : 1e2 }";
  const std::string text = R"({"id":"","role":"assistant","blocks":[{"kind":"reasoning","text":"",)"
                           R"("metadata":)" +
                           signature + "}]}";
  const auto message = message_from_json(text);
  ASSERT_TRUE(message);
  const auto& block = std::get<ReasoningBlock>(message->blocks.at(0));
  EXPECT_EQ(block.metadata.text(), signature);
  EXPECT_NE(to_json(*message).find(signature), std::string::npos);
}

TEST(Message, KeepsArgumentsThatAreNoJsonOrHaveSpaceAround) {
  for (const std::string_view args : {"{\"to\": \"Ali", "\n{}", "{} ", ""}) {
    Message message = assistant_says("");
    message.blocks = {ToolCallBlock{.id = "c", .name = "t", .args = std::string(args)}};
    EXPECT_EQ(message_from_json(to_json(message)).value(), message);
  }
}

TEST(Message, ComesBackWithArgumentsThatNestAsDeepAsJsonMay) {
  const std::string deep = std::string(json_depth_max, '[') + std::string(json_depth_max, ']');
  Message message = assistant_says("");
  message.blocks = {ToolCallBlock{.id = "c", .name = "t", .args = deep},
                    ReasoningBlock{.metadata = RawJson::from_text(deep).value()}};
  const auto back = message_from_json(to_json(message));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(*back, message);
}

TEST(Message, OfANewerVersionIsNotGuessedAt) {
  const auto message = message_from_json(R"({"v":2,"role":"user","blocks":[]})");
  ASSERT_FALSE(message);
  EXPECT_EQ(message.error().code, ErrorCode::unsupported);
}

TEST(Message, RefusesWhatIsNone) {
  for (const std::string_view text :
       {"", "[]", "{}", R"({"role":"user"})", R"({"role":"robot","blocks":[]})",
        R"({"role":"user","blocks":{}})", R"({"role":"user","blocks":[{}]})",
        R"({"role":"user","blocks":[{"kind":"text"}]})",
        R"({"role":"user","blocks":[{"kind":"text","text":1}]})", R"({"role":"","blocks":[]})",
        R"({"role":"user","blocks":[{"kind":"text","text":"a","text_base64":"!"}]})",
        R"({"role":"user","created_at":"noon","blocks":[]})"}) {
    const auto message = message_from_json(text);
    ASSERT_FALSE(message) << text;
    EXPECT_EQ(message.error().code, ErrorCode::invalid_argument) << text;
  }
}

TEST(Message, SaysWhichMemberIsWrong) {
  const auto message = message_from_json(R"({"role":"robot","blocks":[]})");
  ASSERT_FALSE(message);
  EXPECT_EQ(message.error().message, "not a message: \"role\": expected a known word");
}

// Any bytes at all, in every place where a model or a tool may put them.
RC_GTEST_PROP(Message, ComesBackWithAnyBytes,
              (const std::string& a, const std::string& b, const std::string& c, bool flag)) {
  Message message;
  message.role = flag ? Role::assistant : Role::user;
  message.created_at = noon;
  message.is_partial = flag;
  message.blocks = {TextBlock{.text = a}, ReasoningBlock{.text = b},
                    ToolCallBlock{.id = a, .name = b, .args = c},
                    ToolResultBlock{.call_id = c, .content = a, .is_error = flag}};
  message.unknown.emplace_back("x", RawJson::from_value(Json(std::string("y"))));
  const auto back = message_from_json(to_json(message));
  RC_ASSERT(back.has_value());
  RC_ASSERT(*back == message);
}

}  // namespace
}  // namespace perdure
