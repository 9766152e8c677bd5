// What a provider said goes back to it as it was, and in a form that it accepts.

#include <cstdint>
#include <gtest/gtest.h>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "models/client.hpp"
#include "models/model_server.hpp"
#include "models/streams.hpp"
#include "perdure/agent/provider.hpp"
#include "perdure/core/json.hpp"
#include "perdure/runtime/state.hpp"
#include "runtime/api/records.hpp"

namespace perdure::models {
namespace {

Message results_for(const Message& response) {
  Message message;
  for (const Block& block : response.blocks) {
    if (const auto* call = std::get_if<ToolCallBlock>(&block)) {
      message.blocks.emplace_back(ToolResultBlock{.call_id = call->id, .content = "sunny ☀"});
    }
  }
  return message;
}

class RoundTrip : public testing::TestWithParam<Format> {
 protected:
  // The body of a request that carries `conversation`; the server must accept it.
  std::string sent(const std::vector<Message>& conversation) {
    const auto provider = GetParam().make(server.url("final"), options(), services());
    const auto setup = small_setup();
    EXPECT_TRUE(provider->prepare({.setup = setup, .messages = conversation}));
    Listener listener;
    const ModelOutcome outcome = provider->send(listener, {});
    if (const auto* failed = std::get_if<NotAnswered>(&outcome)) {
      ADD_FAILURE() << failed->error.message;
    } else {
      EXPECT_EQ(std::get<ModelResponse>(outcome).stop, StopReason::end);
      EXPECT_EQ(listener.text, "Done.");
    }
    return server.requests().back().body;
  }

  ModelServer server;
};

TEST_P(RoundTrip, AResponseGoesBackAsItCame) {
  const Message response = GetParam().response(text_bytes_default).message;
  // As it is after a resume: through its stored form.
  const Message stored = message_from_json(to_json(response)).value();
  const std::string body = sent({user_says("hi"), stored, results_for(stored)});
  const std::vector<std::string_view> anthropic = {
      R"("signature":"EqQBCkYIBxgCKkC/x+Zt8w==0123456789abcdef/ÄÖ"})",
      R"({"type":"redacted_thinking","data":"b3Bh\/cXVl=="})",
      R"("input":{"path": "src/ä.txt",  "limit": 1.0}})",
      R"("input":{"city":"Tōkyō \ud83d\ude00","n":12345678901234567890},"caller":{"type":"direct"}})",
      R"({"type":"tool_result","tool_use_id":"toolu_01","content":"sunny ☀"})"};
  const std::vector<std::string_view> chat = {
      R"("reasoning_content":"Zuerst prüfe)",
      R"("arguments":"{\"path\": \"src/ä.txt\",  \"limit\": 1.0}")",
      R"("arguments":"{\"city\":\"Tōkyō \\ud83d\\ude00\",\"n\":12345678901234567890}")",
      R"({"role":"tool","tool_call_id":"call_a","content":"sunny ☀"})"};
  for (const std::string_view part : GetParam().name == "Chat" ? chat : anthropic) {
    EXPECT_NE(body.find(part), std::string::npos) << part << " in " << body;
  }
}

TEST_P(RoundTrip, TheOtherFormatsResponseIsAcceptedToo) {
  for (const Format& format : formats()) {
    const Message response = format.response(text_bytes_default).message;
    const std::string body = sent({user_says("hi"), response, results_for(response)});
    if (format.name == GetParam().name) continue;
    EXPECT_EQ(body.find("signature"), std::string::npos);
    EXPECT_EQ(body.find("reasoning_content"), std::string::npos);
  }
}

TEST_P(RoundTrip, WhatAModelMadeUpIsPutIntoAFormThatIsAccepted) {
  Message response;
  response.role = Role::assistant;
  response.blocks.emplace_back(TextBlock{});
  response.blocks.emplace_back(
      ToolCallBlock{.id = "functions.no such:0", .name = "no such tool!", .args = "{\"a\": "});
  response.blocks.emplace_back(ToolCallBlock{.id = "", .name = "", .args = "[1]"});
  const std::string body = sent({user_says("hi"), response, results_for(response)});
  EXPECT_NE(body.find("no_such_tool_"), std::string::npos);
  EXPECT_NE(body.find("malformed_arguments"), std::string::npos);
}

TEST_P(RoundTrip, BytesThatAreNoTextAreSentAsText) {
  Message message = user_says("odd \xFF bytes");
  message.role = Role::system;
  const std::string body = sent({message, user_says("")});
  EXPECT_TRUE(is_json(body));
  EXPECT_NE(body.find("odd \xEF\xBF\xBD bytes"), std::string::npos);
}

TEST_P(RoundTrip, TheKeyIsInOneHeaderAndNowhereElse) {
  const std::string body = sent({user_says("hi")});
  EXPECT_EQ(body.find(planted_key), std::string::npos);
  int holders = 0;
  const SeenRequest request = server.requests().back();
  for (const auto& [name, value] : request.headers) {
    holders += value.find(planted_key) != std::string::npos ? 1 : 0;
  }
  EXPECT_EQ(holders, 1);
  EXPECT_EQ(request.path.find(planted_key), std::string::npos);
}

TEST_P(RoundTrip, AnotherProcessEstimatesWhatTheFirstWouldHave) {
  const auto setup = small_setup();
  std::vector<Message> conversation = {user_says(std::string(10'000, 'q'))};
  const auto first = GetParam().make(server.url("final"), options(), services());
  const auto sent = first->prepare({.setup = setup, .messages = conversation});
  ASSERT_TRUE(sent);
  Listener listener;
  const auto response = std::get<ModelResponse>(first->send(listener, {}));
  ASSERT_TRUE(response.usage.is_known);
  const std::vector<Message> news = {response.message, user_says("And?")};
  const auto next = first->prepare({.setup = setup, .kept = 1, .messages = news});
  conversation.insert(conversation.end(), news.begin(), news.end());

  const auto second = GetParam().make(server.url("final"), options(), services());
  const auto resumed =
      second->prepare({.setup = setup,
                       .messages = conversation,
                       .counted = {.tokens = response.usage.tokens_in,
                                   .bytes = static_cast<std::int64_t>(sent->bytes)}});

  ASSERT_TRUE(next && resumed);
  EXPECT_EQ(resumed->tokens_in, next->tokens_in);
  EXPECT_LT(resumed->tokens_in, sent->tokens_in)
      << "what was counted is less than what was guessed";
}

INSTANTIATE_TEST_SUITE_P(EveryFormat, RoundTrip, testing::ValuesIn(formats()),
                         [](const auto& format) { return format.param.name; });

}  // namespace
}  // namespace perdure::models
