// What a provider is told of a long session: all of it, in parts.

#include <algorithm>
#include <cstddef>
#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "doubles/must.hpp"
#include "loop/history.hpp"
#include "loop/turn.hpp"
#include "perdure/agent/provider.hpp"
#include "perdure/core/error.hpp"
#include "perdure/runtime/state.hpp"
#include "state/log_fixture.hpp"

namespace perdure {
namespace {

/// What a provider was told, and how much at once.
struct ToldSoFar {
  std::vector<Message> conversation{};
  std::size_t messages_at_once = 0;
  CountedBody counted{};  ///< With the last beginning.
  bool refuses = false;
};

class ConversationListener final : public Provider {
 public:
  explicit ConversationListener(ToldSoFar& told) : told_(told) {}
  [[nodiscard]] Result<PreparedRequest> prepare(const ModelRequest& request) override {
    if (told_.refuses || request.kept > told_.conversation.size()) {
      told_.conversation.clear();
      return fail(ErrorCode::invalid_argument, "refused");
    }
    if (request.kept == 0) told_.counted = request.counted;
    told_.messages_at_once = std::max(told_.messages_at_once, request.messages.size());
    told_.conversation.resize(request.kept);
    told_.conversation.insert(told_.conversation.end(), request.messages.begin(),
                              request.messages.end());
    return PreparedRequest{};
  }
  [[nodiscard]] ModelOutcome send(ModelObserver& /*observer*/, std::stop_token /*stop*/) override {
    return ModelResponse{};
  }

 private:
  ToldSoFar& told_;
};

class ConversationTest : public ::testing::Test {
 protected:
  void add_turns(int turns) {
    for (int turn = 0; turn < turns; ++turn) {
      log.say(user_says(std::string(100'000, 'q')));
      log.say({.role = Role::assistant, .blocks = {TextBlock{std::string(100'000, 'a')}}});
    }
  }
  void expect_told(const std::optional<Message>& input) {
    must(conversation.prepare({}, log.state(), input));
    std::vector<Message> all = provider_messages(log.state());
    if (input) all.push_back(*input);
    EXPECT_EQ(told.conversation, all);
  }

  LogOf log;
  ToldSoFar told;
  Conversation conversation{std::make_unique<ConversationListener>(told)};
};

TEST_F(ConversationTest, OfALongSessionIsToldInParts) {
  add_turns(50);
  expect_told(user_says("Go on."));
  EXPECT_LT(told.messages_at_once, 20U) << "of 101, a tenth of a megabyte each";
}

TEST_F(ConversationTest, OfWhichAllWasToldGoesOnWithWhatIsNew) {
  add_turns(50);
  const Message input = user_says("Go on.");
  expect_told(input);
  log.say(input);
  log.say({.role = Role::assistant, .blocks = {TextBlock{"Yes."}}});
  told.messages_at_once = 0;
  expect_told(user_says("And on."));
  EXPECT_EQ(told.messages_at_once, 2U) << "the response, and the next word";
}

TEST_F(ConversationTest, ThatWasRefusedIsToldAnew) {
  add_turns(30);
  told.refuses = true;
  EXPECT_FALSE(conversation.prepare({}, log.state(), std::nullopt));
  told.refuses = false;
  expect_told(std::nullopt);
}

TEST_F(ConversationTest, AnotherModelIsNotToldWhatTheFirstOneThought) {
  ModelResponse response{.message = assistant_says("Sunny.")};
  response.message.blocks.insert(response.message.blocks.begin(), ReasoningBlock{.text = "hm"});
  log.say(user_says("How is it?"));
  log.say(loop::marked(response, {.model = "first"}));
  log.say(user_says("And there?"));
  const auto blocks_told = [&](const std::string& model) {
    perdure::Setup setup;
    setup.model = model;
    must(conversation.prepare(setup, log.state(), {}));
    return told.conversation.at(1).blocks.size();
  };

  EXPECT_EQ(blocks_told("first"), 2U);
  EXPECT_EQ(blocks_told("second"), 1U);
  EXPECT_EQ(text_of(told.conversation.at(1)), "Sunny.");
  EXPECT_EQ(blocks_told("first"), 2U);
}

TEST_F(ConversationTest, OfAnotherProcessBeginsWithWhatWasCountedLast) {
  const auto counted_by = [&](const std::string& model) {
    perdure::Setup setup;
    setup.model = model;
    Conversation fresh{std::make_unique<ConversationListener>(told)};
    must(fresh.prepare(setup, log.state(), {}));
    return told.counted;
  };
  const CountedBody counted{.tokens = 70, .bytes = 300};
  log.say(user_says("How is it?"));
  log.say(loop::marked({.message = assistant_says("Sunny.")}, {.model = "m", .counted = counted}));
  log.say(user_says("And there?"));
  log.say(loop::marked({.message = assistant_says("Al")}, {.model = "m"}));

  EXPECT_EQ(counted_by("m"), counted) << "by the response before the one that was cut off";
  EXPECT_EQ(counted_by("other"), CountedBody{}) << "another counts otherwise";
  log.say(loop::marked({.message = assistant_says("Rain.")}, {.model = "other"}));
  EXPECT_EQ(counted_by("m"), CountedBody{}) << "it is told all of it anew";
}

}  // namespace
}  // namespace perdure
