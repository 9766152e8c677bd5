// Bodies that grow: what is written is counted, and the text is that of one written at once.

#include <algorithm>
#include <cstddef>
#include <gtest/gtest.h>
#include <memory>
#include <ostream>
#include <rapidcheck/gtest.h>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/dialect.hpp"
#include "perdure/agent/provider.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/runtime/state.hpp"

namespace perdure {
namespace {

std::string joined(const RequestBody& body) {
  std::string text;
  for (const std::string_view part : body.parts()) text += part;
  return text;
}

Setup plain_setup() {
  Setup setup;
  setup.model = "m";
  setup.system_prompt = "Be brief.";
  return setup;
}

std::vector<Message> conversation(std::size_t turns) {
  std::vector<Message> messages;
  for (std::size_t i = 0; i < turns; ++i) {
    messages.push_back(user_says("question " + std::string(500, 'q')));
    messages.push_back(assistant_says("answer " + std::string(500, 'a')));
  }
  messages.push_back(user_says("the last question"));
  return messages;
}

struct Form {
  std::string name;
  std::shared_ptr<const Dialect> dialect;
};

void PrintTo(const Form& form, std::ostream* out) { *out << form.name; }

class Bodies : public testing::TestWithParam<Form> {};

TEST_P(Bodies, OfASessionTakenUpAgainIsThatOfOneThatGrew) {
  const auto setup = plain_setup();
  auto all = conversation(500);
  for (std::size_t i = 0; i < all.size(); ++i)
    all[i].blocks.emplace_back(TextBlock{.text = std::to_string(i)});
  RequestBody grown(*GetParam().dialect);
  for (std::size_t i = 0; i < all.size(); ++i) {
    ASSERT_TRUE(
        grown.update({.setup = setup, .kept = i, .messages = std::span(all).subspan(i, 1)}));
  }
  RequestBody at_once(*GetParam().dialect);
  ASSERT_TRUE(at_once.update({.setup = setup, .messages = all}));

  EXPECT_EQ(joined(at_once), joined(grown));
  EXPECT_EQ(at_once.digest(), grown.digest());
  EXPECT_EQ(at_once.bytes(), joined(at_once).size());
}

TEST_P(Bodies, ATurnCostsWhatIsNewWhateverTheHistory) {
  const auto setup = plain_setup();
  const auto all = conversation(1000);
  RequestBody body(*GetParam().dialect);
  std::vector<std::size_t> costs;
  std::size_t written = 0;
  for (std::size_t end = 1; end <= all.size(); end += 2) {
    const std::size_t kept = end < 3 ? 0 : end - 2;
    const std::span fresh(all.begin() + static_cast<long>(kept),
                          all.begin() + static_cast<long>(end));
    ASSERT_TRUE(body.update({.setup = setup, .kept = kept, .messages = fresh}));
    costs.push_back(body.bytes_written() - written);
    written = body.bytes_written();
  }
  // Of equal turns, the thousandth costs what the tenth did.
  EXPECT_EQ(costs[10], costs[999]);
  EXPECT_EQ(*std::ranges::max_element(costs), costs[10]);
  EXPECT_LT(costs[10], 3000U);
  EXPECT_GT(body.bytes(), 1'000'000U);
}

TEST_P(Bodies, OneThatGrewIsOneThatWasWrittenAtOnce) {
  const auto setup = plain_setup();
  const auto all = conversation(20);
  RequestBody grown(*GetParam().dialect);
  for (std::size_t end = 1; end <= all.size(); ++end) {
    const std::span fresh(all.begin() + static_cast<long>(end - 1), 1);
    ASSERT_TRUE(grown.update({.setup = setup, .kept = end - 1, .messages = fresh}));
    RequestBody fresh_body(*GetParam().dialect);
    ASSERT_TRUE(fresh_body.update({.setup = setup, .messages = std::span(all).first(end)}));
    ASSERT_EQ(joined(grown), joined(fresh_body));
    ASSERT_EQ(grown.digest(), fresh_body.digest());
    ASSERT_EQ(grown.bytes(), joined(grown).size());
    ASSERT_TRUE(is_json(joined(grown)));
  }
}

TEST_P(Bodies, AnEndThatChangedIsWrittenAnew) {
  const auto setup = plain_setup();
  auto all = conversation(3);
  RequestBody body(*GetParam().dialect);
  ASSERT_TRUE(body.update({.setup = setup, .messages = all}));
  const Digest before = body.digest();
  all.back() = user_says("another question");
  ASSERT_TRUE(body.update({.setup = setup, .kept = 4, .messages = std::span(all).subspan(4)}));
  RequestBody once(*GetParam().dialect);
  ASSERT_TRUE(once.update({.setup = setup, .messages = all}));
  EXPECT_EQ(joined(body), joined(once));
  EXPECT_NE(body.digest(), before);
}

// A long system prompt, or many tools, are not written anew for each part of a conversation.
TEST_P(Bodies, TheHeadIsWrittenWhenTheSetupChanges) {
  auto setup = plain_setup();
  setup.system_prompt = std::string(100'000, 's');
  const auto all = conversation(2);
  RequestBody body(*GetParam().dialect);
  ASSERT_TRUE(body.update({.setup = setup, .messages = std::span(all).first(3)}));
  const std::size_t before = body.bytes_written();
  ASSERT_TRUE(body.update({.setup = setup, .kept = 3, .messages = std::span(all).subspan(3)}));
  EXPECT_LT(body.bytes_written() - before, 3'000U);
}

// A provider takes few of them, and looks each one up.
TEST_P(Bodies, MarksDoNotGrowWithTheConversation) {
  const auto setup = plain_setup();
  const auto all = conversation(10);
  RequestBody body(*GetParam().dialect);
  for (std::size_t end = 1; end <= all.size(); ++end) {
    const std::span fresh(all.begin() + static_cast<long>(end - 1), 1);
    ASSERT_TRUE(body.update({.setup = setup, .kept = end - 1, .messages = fresh}));
  }
  const std::string text = joined(body);
  std::size_t marks = 0;
  for (auto at = text.find("cache_control"); at != std::string::npos; ++marks) {
    at = text.find("cache_control", at + 1);
  }
  EXPECT_EQ(marks, GetParam().name == "Anthropic" ? 2U : 0U);
}

TEST_P(Bodies, TheDigestCoversEveryMessage) {
  const auto setup = plain_setup();
  const auto all = conversation(3);
  RequestBody body(*GetParam().dialect);
  ASSERT_TRUE(body.update({.setup = setup, .messages = all}));
  const Digest whole = body.digest();
  for (std::size_t i = 0; i < all.size(); ++i) {
    auto other = all;
    other[i].blocks = user_says("something else").blocks;
    RequestBody changed(*GetParam().dialect);
    ASSERT_TRUE(changed.update({.setup = setup, .messages = other}));
    EXPECT_NE(changed.digest(), whole) << i;
  }
}

TEST_P(Bodies, TheSameAgainNeedsNoMessages) {
  const auto setup = plain_setup();
  const auto all = conversation(3);
  RequestBody body(*GetParam().dialect);
  ASSERT_TRUE(body.update({.setup = setup, .messages = all}));
  const std::string before = joined(body);
  ASSERT_TRUE(body.update({.setup = setup, .kept = all.size()}));
  EXPECT_EQ(joined(body), before);
}

TEST_P(Bodies, AChangedSetupKeepsTheMessages) {
  auto setup = plain_setup();
  const auto all = conversation(3);
  RequestBody body(*GetParam().dialect);
  ASSERT_TRUE(body.update({.setup = setup, .messages = all}));
  setup.system_prompt = "";
  ASSERT_TRUE(body.update({.setup = setup, .kept = all.size()}));
  RequestBody once(*GetParam().dialect);
  ASSERT_TRUE(once.update({.setup = setup, .messages = all}));
  EXPECT_EQ(joined(body), joined(once));
  EXPECT_EQ(body.bytes(), joined(body).size());
  EXPECT_EQ(body.digest(), once.digest());
}

TEST_P(Bodies, ACapThatComesLaterIsThatOfOneThatWasThereAtOnce) {
  const auto setup = plain_setup();
  const auto all = conversation(3);
  RequestBody body(*GetParam().dialect);
  ASSERT_TRUE(body.update({.setup = setup, .messages = all}));
  ASSERT_TRUE(body.update({.setup = setup, .kept = all.size(), .is_capped = true}));
  RequestBody once(*GetParam().dialect);
  ASSERT_TRUE(once.update({.setup = setup, .messages = all, .is_capped = true}));
  EXPECT_EQ(joined(body), joined(once));
  EXPECT_EQ(body.digest(), once.digest());
}

TEST_P(Bodies, WhatCannotBeKeptIsRefused) {
  const auto setup = plain_setup();
  const auto all = conversation(1);
  RequestBody body(*GetParam().dialect);
  const auto refused = body.update({.setup = setup, .kept = 1, .messages = all});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
  EXPECT_TRUE(body.is_empty());
}

TEST_P(Bodies, ParametersOfOursAreRefused) {
  auto setup = plain_setup();
  for (const char* const text :
       {R"({"stream":false})", R"({"messages":[]})", R"({"model":"x"})", "[1]"}) {
    setup.parameters = RawJson::from_text(text).value();
    RequestBody body(*GetParam().dialect);
    const auto refused = body.update({.setup = setup});
    ASSERT_FALSE(refused) << text;
    EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
  }
}

TEST_P(Bodies, ParametersGoInAsTheyWereWritten) {
  auto setup = plain_setup();
  setup.parameters =
      RawJson::from_text(R"({"max_tokens": 77, "x" : {"deep":  [1.0, 2e3]}})").value();
  RequestBody body(*GetParam().dialect);
  ASSERT_TRUE(body.update({.setup = setup}));
  EXPECT_NE(joined(body).find(R"("max_tokens":77,"x":{"deep":  [1.0, 2e3]})"), std::string::npos);
  EXPECT_EQ(GetParam().dialect->tokens_out_max(setup), 77);
  EXPECT_TRUE(is_json(joined(body)));
}

INSTANTIATE_TEST_SUITE_P(EveryFormat, Bodies,
                         testing::Values(Form{"Anthropic", anthropic_dialect({})},
                                         Form{"Chat", chat_dialect({})}),
                         [](const auto& form) { return form.param.name; });

}  // namespace
}  // namespace perdure
