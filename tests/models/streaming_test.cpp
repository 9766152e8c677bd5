// Responses that stream in any pieces, and end anywhere.

#include <cstddef>
#include <gtest/gtest.h>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "models/client.hpp"
#include "models/model_server.hpp"
#include "models/streams.hpp"
#include "perdure/agent/provider.hpp"
#include "perdure/core/error.hpp"
#include "perdure/runtime/state.hpp"
#include "runtime/api/records.hpp"

namespace perdure::models {
namespace {

class Streaming : public testing::TestWithParam<Format> {
 protected:
  ModelOutcome ask_for(const std::string& behaviour) {
    listener = {};
    const auto provider = GetParam().make(server.url(behaviour), options(), services());
    return ask(*provider, listener);
  }

  [[nodiscard]] ModelResponse expected(std::size_t text_bytes = text_bytes_default) const {
    ModelResponse response = GetParam().response(text_bytes);
    response.request_id = "req_9";
    return response;
  }

  void expect_whole(const std::string& behaviour, std::size_t text_bytes = text_bytes_default) {
    const ModelOutcome outcome = ask_for(behaviour);
    const auto* const response = std::get_if<ModelResponse>(&outcome);
    ASSERT_NE(response, nullptr) << behaviour;
    EXPECT_TRUE(*response == expected(text_bytes)) << behaviour << to_json(response->message);
    EXPECT_EQ(listener.text, text_of(response->message));
    EXPECT_EQ(listener.calls.size(), 2U);
  }

  ModelServer server;
  Listener listener;
};

std::string body_of(const std::vector<std::string>& events) {
  std::string body;
  for (const std::string& event : events) body += event;
  return body;
}

// Text, reasoning and arguments of a partial message, in a row: what must be a beginning.
std::string words_of(const Message& message) {
  std::string words;
  for (const Block& block : message.blocks) {
    if (const auto* text = std::get_if<TextBlock>(&block)) words += text->text;
    if (const auto* reasoning = std::get_if<ReasoningBlock>(&block)) words += reasoning->text;
    const auto* const call = std::get_if<ToolCallBlock>(&block);
    if (call != nullptr && call->args != "{}") words += call->args;
  }
  return words;
}

TEST_P(Streaming, AWholeResponseIsExact) { expect_whole("whole"); }

TEST_P(Streaming, TheStreamIsLargeEnoughToBeSplitInManyWays) {
  EXPECT_GE(body_of(GetParam().events(text_bytes_default)).size(), 4096U);
}

TEST_P(Streaming, PiecesOfAnySizeAreTheSameResponse) {
  for (const int size : {1, 2, 3, 7, 100, 1460}) expect_whole("pieces-" + std::to_string(size));
}

TEST_P(Streaming, PingsAndCommentsArePassedOver) { expect_whole("pings"); }

TEST_P(Streaming, UnknownEventsArePassedOver) { expect_whole("unknown"); }

TEST_P(Streaming, TenMegabytesAreNoTrouble) { expect_whole("large-10000", 10'000'000); }

TEST_P(Streaming, AServerThatNeverClosesIsNotWaitedFor) { expect_whole("linger"); }

// The first number of bytes that make a whole response.
std::size_t bytes_to_the_end(const Format& format) {
  const auto events = format.events(text_bytes_default);
  // Chat Completions says that it is finished two events before its end: the rest counts tokens.
  const std::size_t left = format.name == "Chat" ? 2 : 0;
  return body_of({events.begin(), events.end() - static_cast<long>(left)}).size();
}

TEST_P(Streaming, ACutAtEveryByteIsNoticedAndLosesNothing) {
  const std::string whole = words_of(GetParam().response(text_bytes_default).message);
  const std::size_t end = bytes_to_the_end(GetParam());
  const std::size_t size = body_of(GetParam().events(text_bytes_default)).size();
  for (std::size_t bytes = 0; bytes <= size; ++bytes) {
    const ModelOutcome outcome = ask_for("cut-" + std::to_string(bytes));
    const auto* const cut = std::get_if<CutOff>(&outcome);
    ASSERT_EQ(cut == nullptr, bytes >= end) << bytes << " of " << size;
    if (cut == nullptr) {
      ASSERT_TRUE(std::get<ModelResponse>(outcome).message == expected().message) << bytes;
      continue;
    }
    ASSERT_TRUE(cut->so_far.message.is_partial) << bytes;
    ASSERT_TRUE(whole.starts_with(words_of(cut->so_far.message))) << bytes;
    ASSERT_EQ(listener.text, text_of(cut->so_far.message)) << bytes;
  }
}

TEST_P(Streaming, ACutBetweenChunksIsNoticedToo) {
  const std::size_t end = bytes_to_the_end(GetParam());
  for (std::size_t bytes = 0; bytes <= end; bytes += 97) {
    const ModelOutcome outcome = ask_for("chunkcut-" + std::to_string(bytes));
    ASSERT_EQ(std::holds_alternative<CutOff>(outcome), bytes < end) << bytes;
  }
}

TEST_P(Streaming, AnErrorInTheStreamIsACutOffInTheProvidersWords) {
  const ModelOutcome outcome = ask_for("error");
  const auto& cut = std::get<CutOff>(outcome);
  EXPECT_EQ(cut.error.code, ErrorCode::unavailable);
  EXPECT_EQ(cut.error.message, "overloaded_error: Overloaded");
  EXPECT_EQ(cut.error.subject, "req_9");
  EXPECT_FALSE(text_of(cut.so_far.message).empty());
  EXPECT_EQ(server.requests().size(), 1U);
}

TEST_P(Streaming, AnEndWithoutTheLastEventIsNoEnd) {
  const ModelOutcome outcome = ask_for("eof");
  if (GetParam().name == "Chat") {
    EXPECT_TRUE(std::get<ModelResponse>(outcome) == expected());  // All but [DONE] was said.
  } else {
    EXPECT_EQ(std::get<CutOff>(outcome).error.message, "the response ended before its end");
  }
}

TEST_P(Streaming, WhyItStoppedIsToldInOneWord) {
  const bool is_chat = GetParam().name == "Chat";
  const ModelOutcome length = ask_for("length");
  EXPECT_EQ(std::get<ModelResponse>(length).stop, StopReason::length);
  const ModelOutcome refusal = ask_for("refusal");
  EXPECT_EQ(std::get<ModelResponse>(refusal).stop, StopReason::refusal);
  EXPECT_NE(
      std::get<ModelResponse>(refusal).stop_text.find(is_chat ? "content_filter" : "Not this."),
      std::string::npos);
  if (is_chat) return;  // It has no such thing.
  const ModelOutcome pause = ask_for("pause");
  EXPECT_EQ(std::get<ModelResponse>(pause).stop, StopReason::paused);
}

TEST_P(Streaming, AnAnswerThatIsNoStreamIsToldAsSuch) {
  const ModelOutcome outcome = ask_for("page");
  const auto& failed = std::get<NotAnswered>(outcome);
  EXPECT_NE(failed.error.message.find("no stream of events, but text/html; charset=utf-8"),
            std::string::npos);
  EXPECT_FALSE(failed.may_be_paid);
  EXPECT_EQ(server.requests().size(), 1U) << "a wrong address does not get better";
}

TEST_P(Streaming, AnErrorThatIsCalledASuccessIsToldInItsWords) {
  const ModelOutcome outcome = ask_for("apology");
  const auto& failed = std::get<NotAnswered>(outcome);
  EXPECT_NE(failed.error.message.find("said: all desks are taken"), std::string::npos)
      << failed.error.message;
  EXPECT_EQ(failed.error.code, ErrorCode::unavailable);
  EXPECT_TRUE(failed.may_be_paid);
}

TEST_P(Streaming, AnEventBeyondTheLimitEndsTheResponse) {
  const ModelOutcome outcome = ask_for("huge");
  EXPECT_EQ(std::get<CutOff>(outcome).error.message,
            "an event of the response's stream is too large");
}

TEST_P(Streaming, AResponseBeyondTheLimitEnds) {
  HttpProviderOptions small = options();
  small.response_bytes_max = 2000;
  const auto provider = GetParam().make(server.url("whole"), small, services());
  const ModelOutcome outcome = ask(*provider, listener);
  EXPECT_EQ(std::get<CutOff>(outcome).error.message,
            "the response is too large: it has more than 2000 bytes (model.response_bytes_max)");
  EXPECT_FALSE(text_of(std::get<CutOff>(outcome).so_far.message).empty());
}

INSTANTIATE_TEST_SUITE_P(EveryFormat, Streaming, testing::ValuesIn(formats()),
                         [](const auto& format) { return format.param.name; });

TEST(ChatServers, MayNotCountTokens) {
  const ModelServer server;
  Listener listener;
  const auto provider = formats()[1].make(server.url("nousage"), options(), services());
  const ModelOutcome outcome = ask(*provider, listener);
  const auto& response = std::get<ModelResponse>(outcome);
  EXPECT_FALSE(response.usage.is_known);
  EXPECT_TRUE(response.message == chat_response().message);
}

}  // namespace
}  // namespace perdure::models
