// The servers refuse what another provider, or another family of models, has thought; so that a test
// in which a session changes its provider fails if a thought goes along.

#include <cstddef>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "models/client.hpp"
#include "models/model_server.hpp"
#include "models/request_check.hpp"
#include "models/streams.hpp"

namespace perdure::models {
namespace {

constexpr std::string_view messages_path = "/final/v1/messages";
constexpr std::string_view chat_path = "/final/v1/chat/completions";

/// What the servers say to a conversation in which the model has said `assistant`, a JSON object.
std::optional<std::string> refusal(std::string_view path, std::string_view model,
                                   const std::string& assistant) {
  SeenRequest request{.path = std::string(path), .headers = {{"anthropic-version", "1"}}};
  request.body = R"({"model":")" + std::string(model) + R"(","max_tokens":9,"messages":[)" +
                 R"({"role":"user","content":"hi"},)" + assistant +
                 R"(,{"role":"user","content":"and?"}]})";
  return refusal_of(request);
}

std::string thinking(std::string_view thought, std::string_view signature) {
  return R"({"role":"assistant","content":[{"type":"thinking","thinking":")" +
         std::string(thought) + R"(","signature":")" + std::string(signature) +
         R"("},{"type":"text","text":"a"}]})";
}
std::string redacted(std::string_view data) {
  return R"({"role":"assistant","content":[{"type":"redacted_thinking","data":")" +
         std::string(data) + R"("},{"type":"text","text":"a"}]})";
}
std::string member(std::string_view name, std::string_view thought) {
  return R"({"role":"assistant","content":"a",")" + std::string(name) + R"(":")" +
         std::string(thought) + R"("})";
}

const Voice anthropic_voice = voice_of(Wire::anthropic, "test-1").value();
const Voice chat_voice = voice_of(Wire::chat, "test-1").value();

TEST(ForeignReasoning, OnesOwnIsAccepted) {
  EXPECT_EQ(refusal(messages_path, "test-1",
                    thinking(anthropic_voice.thought, anthropic_voice.signature)),
            std::nullopt);
  EXPECT_EQ(refusal(messages_path, "test-1", redacted(anthropic_voice.redacted)), std::nullopt);
  EXPECT_EQ(refusal(chat_path, "test-1", member("reasoning_content", chat_voice.thought)),
            std::nullopt);
}

TEST(ForeignReasoning, AnotherProvidersIsRefused) {
  EXPECT_NE(
      refusal(messages_path, "test-1", thinking(chat_voice.thought, anthropic_voice.signature)),
      std::nullopt);
  EXPECT_NE(refusal(messages_path, "test-1", thinking(anthropic_voice.thought, "another")),
            std::nullopt);
  EXPECT_NE(refusal(messages_path, "test-1", redacted("another")), std::nullopt);
  for (const char* const name : {"reasoning_content", "reasoning", "reasoning_details"}) {
    EXPECT_NE(refusal(messages_path, "test-1", member(name, chat_voice.thought)), std::nullopt)
        << name;
    EXPECT_NE(refusal(chat_path, "test-1", member(name, anthropic_voice.thought)), std::nullopt)
        << name;
  }
  EXPECT_NE(
      refusal(chat_path, "test-1", thinking(anthropic_voice.thought, anthropic_voice.signature)),
      std::nullopt);
}

TEST(ForeignReasoning, AnotherFamilysIsRefused) {
  EXPECT_NE(refusal(messages_path, "other-1",
                    thinking(anthropic_voice.thought, anthropic_voice.signature)),
            std::nullopt);
  EXPECT_NE(refusal(messages_path, "other-1", redacted(anthropic_voice.redacted)), std::nullopt);
  EXPECT_NE(refusal(chat_path, "other-1", member("reasoning_content", chat_voice.thought)),
            std::nullopt);
}

}  // namespace
}  // namespace perdure::models
