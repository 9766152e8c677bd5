// The scripted provider: which response comes follows from the conversation.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "perdure/agent/provider.hpp"
#include "perdure/core/error.hpp"
#include "perdure/runtime/state.hpp"

namespace perdure {
namespace {

constexpr std::string_view script = R"({"responses": [
  {"reasoning": "Hm.", "text": "I look.", "calls": [{"name": "read", "args": {"path": "a"}},
                                                     {"id": "x", "name": "list", "args": "{bad"}],
   "usage": {"in": 100, "out": 20, "cache_read": 50}},
  {"text": "Done.", "fails": [{"status": 529, "message": "busy"},
                              {"code": "invalid_argument", "may_be_paid": true}]},
  {"text": "Half of", "cut_off": "the line is dead"},
  {"text": "No.", "stop": "refusal", "model": "m-1"}
]})";

class Scripted : public testing::Test {
 protected:
  ModelOutcome next() {
    ModelObserver nobody;
    const perdure::Setup setup;
    const auto fresh = std::span(conversation).subspan(prepared);
    EXPECT_TRUE(provider->prepare({.setup = setup, .kept = prepared, .messages = fresh}));
    prepared = conversation.size();
    return provider->send(nobody, {});
  }
  void say(const Message& message) {
    conversation.push_back(message);
    conversation.push_back(user_says("go on"));
  }
  // As another process would.
  void resume() {
    provider = make_scripted(script).value();
    prepared = 0;
  }

  std::unique_ptr<Provider> provider = make_scripted(script).value();
  std::vector<Message> conversation = {user_says("hi")};
  std::size_t prepared = 0;
};

TEST_F(Scripted, SaysWhatTheScriptSays) {
  const auto response = std::get<ModelResponse>(next());
  ASSERT_EQ(response.message.blocks.size(), 4U);
  EXPECT_EQ(std::get<ReasoningBlock>(response.message.blocks[0]).text, "Hm.");
  EXPECT_EQ(text_of(response.message), "I look.");
  EXPECT_EQ(std::get<ToolCallBlock>(response.message.blocks[2]),
            (ToolCallBlock{.id = "call_1", .name = "read", .args = R"({"path":"a"})"}));
  EXPECT_EQ(std::get<ToolCallBlock>(response.message.blocks[3]),
            (ToolCallBlock{.id = "x", .name = "list", .args = "{bad"}));
  EXPECT_EQ(response.stop, StopReason::calls);
  EXPECT_EQ(response.usage,
            (ModelUsage{.is_known = true, .tokens_in = 100, .tokens_out = 20, .cache_read = 50}));
}

TEST_F(Scripted, AResumedProcessGoesOnWhereTheConversationIs) {
  for (int i = 0; i < 2; ++i) {
    resume();
    EXPECT_EQ(text_of(std::get<ModelResponse>(next()).message), "I look.");
  }
  say(assistant_says("I look."));
  resume();
  EXPECT_EQ(std::get<NotAnswered>(next()).status, 529);
  say(assistant_says("Done."));
  say(assistant_says("Half of"));
  resume();
  EXPECT_EQ(std::get<ModelResponse>(next()).stop, StopReason::refusal);
}

TEST_F(Scripted, FailsAsOftenAsItSays) {
  say(assistant_says("I look."));
  EXPECT_EQ(std::get<NotAnswered>(next()).error.message, "busy");
  const auto paid = std::get<NotAnswered>(next());
  EXPECT_EQ(paid.error.code, ErrorCode::invalid_argument);
  EXPECT_TRUE(paid.may_be_paid);
  const auto response = std::get<ModelResponse>(next());
  EXPECT_EQ(text_of(response.message), "Done.");
  EXPECT_TRUE(response.usage.is_known);
  EXPECT_GT(response.usage.tokens_out, 0);
}

TEST_F(Scripted, CutsAResponseOff) {
  say(assistant_says("I look."));
  say(assistant_says("Done."));
  const auto cut = std::get<CutOff>(next());
  EXPECT_EQ(cut.error.message, "the line is dead");
  EXPECT_TRUE(cut.so_far.message.is_partial);
  EXPECT_EQ(text_of(cut.so_far.message), "Half of");
}

TEST_F(Scripted, AnEndedScriptSaysSo) {
  for (int i = 0; i < 4; ++i) say(assistant_says("a"));
  EXPECT_EQ(std::get<NotAnswered>(next()).error.code, ErrorCode::invalid_argument);
}

TEST_F(Scripted, CanBeStopped) {
  ModelObserver nobody;
  const perdure::Setup setup;
  ASSERT_TRUE(provider->prepare({.setup = setup, .messages = conversation}));
  const std::stop_source stop;
  stop.request_stop();
  EXPECT_TRUE(std::get<NotAnswered>(provider->send(nobody, stop.get_token())).was_stopped);
}

TEST_F(Scripted, TheSameConversationHasTheSameDigestEverywhere) {
  const perdure::Setup setup;
  say(assistant_says("I look."));
  const auto once = provider->prepare({.setup = setup, .messages = conversation});
  const auto other = make_scripted(script).value();
  const auto all = std::span(conversation);
  ASSERT_TRUE(other->prepare({.setup = setup, .messages = all.first(1)}));
  const auto grown = other->prepare({.setup = setup, .kept = 1, .messages = all.subspan(1)});
  ASSERT_TRUE(once && grown);
  EXPECT_EQ(once->digest, grown->digest);
  EXPECT_EQ(once->bytes, grown->bytes);
}

TEST(Script, WhatIsMisspeltIsRefusedByName) {
  using Pair = std::pair<std::string_view, std::string_view>;
  for (const auto& [text, words] :
       {Pair{"{", ""}, Pair{"[]", "must be an object"},
        Pair{R"({"response": []})", "has no member \"response\"; did you mean \"responses\"?"},
        Pair{R"({"responses": {}})", "/responses must be an array"},
        Pair{R"({"responses": [{"cals": []}]})", "/responses/0 has no member \"cals\""},
        Pair{R"({"responses": [{}, {"text": 1}]})", "/responses/1/text must be a string"},
        Pair{R"({"responses": [{"calls": [{"args": {}}]}]})",
             "/responses/0/calls/0 lacks the member \"name\""},
        Pair{R"({"responses": [{"stop": "never"}]})", "/responses/0/stop must be one of \"end\""},
        Pair{R"({"responses": [{"usage": {"in": -1}}]})", "/responses/0/usage/in must be at least"},
        Pair{R"({"responses": [{"fails": [{"code": "no"}]}]})", "/responses/0/fails has a code"}}) {
    const auto made = make_scripted(text);
    ASSERT_FALSE(made) << text;
    EXPECT_EQ(made.error().code, ErrorCode::invalid_argument);
    EXPECT_THAT(made.error().message, testing::HasSubstr(std::string(words)));
  }
}

}  // namespace
}  // namespace perdure
