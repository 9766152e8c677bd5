// Answers in one piece, of servers that do not stream though they were asked to.

#include <cstddef>
#include <gtest/gtest.h>
#include <string>
#include <variant>

#include "models/client.hpp"
#include "models/model_server.hpp"
#include "models/streams.hpp"
#include "perdure/agent/provider.hpp"
#include "perdure/core/error.hpp"
#include "perdure/runtime/state.hpp"
#include "runtime/api/records.hpp"

namespace perdure::models {
namespace {

class WholeAnswer : public testing::TestWithParam<Format> {
 protected:
  ModelOutcome ask_for(const std::string& behaviour) {
    listener = {};
    const auto provider = GetParam().make(server.url(behaviour), options(), services());
    return ask(*provider, listener);
  }

  [[nodiscard]] bool is_chat() const { return GetParam().name == "Chat"; }
  [[nodiscard]] std::string object() const {
    return is_chat() ? chat_object() : anthropic_object();
  }

  ModelServer server;
  Listener listener;
};

TEST_P(WholeAnswer, IsReadAsAResponseWhateverTheServerCallsIt) {
  for (int told = 0; told <= 5; ++told) {
    const ModelOutcome outcome = ask_for("object-" + std::to_string(told));
    const auto* const response = std::get_if<ModelResponse>(&outcome);
    ASSERT_NE(response, nullptr) << told;
    ModelResponse expected = GetParam().response(text_bytes_default);
    expected.request_id = "req_9";
    EXPECT_TRUE(*response == expected) << told << to_json(response->message);
    EXPECT_EQ(listener.text, text_of(response->message));
    EXPECT_FALSE(listener.reasoning.empty());
    EXPECT_EQ(listener.calls.size(), 2U);
  }
  EXPECT_EQ(server.requests().size(), 6U);
}

TEST_P(WholeAnswer, CutAnywhereIsACutOff) {
  const std::size_t size = object().size();
  for (std::size_t bytes = 1; bytes < size; bytes += bytes < 40 || bytes > size - 40 ? 1 : 97) {
    for (const char* const how : {"objectcut-", "objectshort-"}) {
      const ModelOutcome outcome = ask_for(how + std::to_string(bytes));
      const auto* const cut = std::get_if<CutOff>(&outcome);
      ASSERT_NE(cut, nullptr) << how << bytes;
      EXPECT_TRUE(cut->so_far.message.is_partial);
      EXPECT_FALSE(cut->so_far.usage.is_known);
      EXPECT_EQ(cut->error.code, ErrorCode::unavailable);
      EXPECT_EQ(cut->error.subject, "req_9");
    }
  }
}

TEST_P(WholeAnswer, IsWholeWithItsLastBraceHoweverTheConnectionEnds) {
  for (const char* const how : {"objectcut-", "objectshort-"}) {
    const ModelOutcome outcome = ask_for(how + std::to_string(object().size()));
    EXPECT_TRUE(std::holds_alternative<ModelResponse>(outcome)) << how;
  }
}

TEST_P(WholeAnswer, ThatIsNoResponseIsShown) {
  const ModelOutcome outcome = ask_for("objectother");
  const auto* const failed = std::get_if<NotAnswered>(&outcome);
  ASSERT_NE(failed, nullptr);
  EXPECT_TRUE(failed->may_be_paid);
  EXPECT_NE(failed->error.message.find("JSON that is no response: {"), std::string::npos)
      << failed->error.message;
  EXPECT_EQ(server.requests().size(), 1U);
}

TEST_P(WholeAnswer, ThatIsPackedIsToldAsSuch) {
  const ModelOutcome outcome = ask_for("packed");
  const auto& cut = std::get<CutOff>(outcome);
  EXPECT_NE(cut.error.message.find("gzip"), std::string::npos) << cut.error.message;
}

INSTANTIATE_TEST_SUITE_P(EveryFormat, WholeAnswer, testing::ValuesIn(formats()),
                         [](const auto& format) { return format.param.name; });

TEST(WholeChatAnswer, WithAnErrorInItIsACutOffInItsWords) {
  const ModelServer server;
  Listener listener;
  const auto provider = formats()[1].make(server.url("objecterror"), options(), services());
  const ModelOutcome outcome = ask(*provider, listener);
  const auto& cut = std::get<CutOff>(outcome);
  EXPECT_EQ(cut.error.message, "out of memory");
  EXPECT_EQ(text_of(cut.so_far.message), text_of(chat_response().message));
}

}  // namespace
}  // namespace perdure::models
