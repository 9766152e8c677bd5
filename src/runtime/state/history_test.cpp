// The conversation as a provider may be sent it: one test for each thing that can be odd.

#include <gtest/gtest.h>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "perdure/core/json.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "runtime/api/read.hpp"
#include "runtime/api/records.hpp"
#include "state/log_fixture.hpp"

namespace perdure {
namespace {

using enum CallState;

const std::string no_record = "[no result: there is no record that this call was made]";

// Each message as one line: its role, then its blocks in short.
std::vector<std::string> told(const LogOf& log) {
  std::vector<std::string> lines;
  for (const Message& message : provider_messages(log.state())) {
    std::string line(to_string(message.role));
    for (const Block& block : message.blocks) {
      if (const auto* text = std::get_if<TextBlock>(&block)) line += " \"" + text->text + "\"";
      if (const auto* call = std::get_if<ToolCallBlock>(&block)) line += " " + call->id + "?";
      if (std::holds_alternative<ReasoningBlock>(block)) line += " reasoning";
      if (std::holds_alternative<OtherBlock>(block)) line += " other";
      if (const auto* result = std::get_if<ToolResultBlock>(&block)) {
        line += " " + result->call_id + (result->is_error ? "!" : "=") + result->content;
      }
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

using Lines = std::vector<std::string>;

TEST(WellFormed, LeavesAWholeConversationAsItIs) {
  LogOf log;
  Message hello = user_says("Hi");
  hello.id = "m1";
  hello.unknown.emplace_back("x", RawJson{});
  log.say(hello);
  const Position call = log.intend(log.ask({"c"}), 1);
  log.answer("c", call, succeeded);
  log.say(assistant_says("Done."));
  std::vector<Message> said;
  for (const PlacedMessage& placed : log.state().transcript) said.push_back(placed.message);
  EXPECT_EQ(provider_messages(log.state()), said);
}

TEST(WellFormed, SaysThatNothingIsRecordedOfACall) {
  LogOf log;
  log.ask({"c"});
  EXPECT_EQ(told(log), (Lines{"assistant \"Let me see.\" c?", "user c!" + no_record}));
}

TEST(WellFormed, SaysThatNobodyKnowsWhatBecameOfACall) {
  LogOf log;
  const Position call = log.intend(log.ask({"c"}), 1);
  EXPECT_EQ(told(log)[1], "user c![outcome unknown: no result of this call is recorded]");
  log.add("calls", "doubt", to_json(Doubt{.call = call, .why = "no reply in 30 s"}));
  EXPECT_EQ(told(log)[1], "user c![outcome unknown: no reply in 30 s]");
}

TEST(WellFormed, DoesNotSayNotStartedOfACallWhoseRecordIsDamaged) {
  LogOf log;
  log.intend(log.ask({"c"}), 1);
  log.entries()[1].condition = Condition::damaged;
  EXPECT_EQ(told(log)[1], "user c![outcome unknown: the record of this call cannot be read]");
}

TEST(WellFormed, DoesNotTakeAnErasedResultForACallThatNeverWas) {
  LogOf log;
  const Position call = log.intend(log.ask({"c"}), 1);
  log.answer("c", call, succeeded);
  log.entries().back().condition = Condition::erased;
  EXPECT_NE(told(log)[1].find("outcome unknown"), std::string::npos);
}

TEST(WellFormed, GathersResultsInTheOrderOfTheCallsBeforeAnythingElse) {
  LogOf log;
  const Position message = log.ask({"a", "b"});
  const Position first = log.intend(message, 1);
  const Position second = log.intend(message, 2);
  log.say(user_says("Hurry!"));
  log.answer("b", second, succeeded, "2");
  log.answer("a", first, succeeded, "1");
  EXPECT_EQ(told(log),
            (Lines{"assistant \"Let me see.\" a? b?", "user a=1 b=2", "user \"Hurry!\""}));
}

TEST(WellFormed, DropsResultsWithoutACall) {
  LogOf log;
  log.answer("c", 0, succeeded);
  const Position call = log.intend(log.ask({"c"}), 1);
  log.answer("c", call, succeeded, "first");
  log.answer("c", call, failed, "again");
  log.answer("d", 0, succeeded, "of nobody");
  log.say(assistant_says("Well."));
  log.answer("c", call, succeeded, "late");
  EXPECT_EQ(told(log),
            (Lines{"assistant \"Let me see.\" c?", "user c=first", "assistant \"Well.\""}));
}

TEST(WellFormed, DropsCallsThatNoAssistantMade) {
  LogOf log;
  Message message = user_says("Hi");
  message.blocks.emplace_back(ToolCallBlock{.id = "c", .name = "pay"});
  log.say(message);
  EXPECT_EQ(told(log), (Lines{"user \"Hi\""}));
}

TEST(WellFormed, IsNotConfusedByIdsThatComeAgainInEveryTurn) {
  LogOf log;
  const Position first = log.intend(log.ask({"call_0"}), 1);
  log.answer("call_0", first, succeeded, "one");
  log.ask({"call_0"});
  const Position third = log.intend(log.ask({"call_0"}), 1);
  log.answer("call_0", third, succeeded, "three");
  EXPECT_EQ(told(log), (Lines{"assistant \"Let me see.\" call_0?", "user call_0=one",
                              "assistant \"Let me see.\" call_0?", "user call_0!" + no_record,
                              "assistant \"Let me see.\" call_0?", "user call_0=three"}));
}

TEST(WellFormed, TellsTwinsOfOneMessageApart) {
  LogOf log;
  const Position message = log.ask({"c", "c", "c"});
  log.intend(message, 1);
  const Position second = log.intend(message, 2);
  const Position third = log.intend(message, 3);
  log.answer("c", third, succeeded, "3");
  log.answer("c", second, succeeded, "2");
  const Lines lines = told(log);
  EXPECT_EQ(lines[0], "assistant \"Let me see.\" c? c_2? c_3?");
  EXPECT_TRUE(lines[1].starts_with("user c![outcome unknown")) << lines[1];
  EXPECT_TRUE(lines[1].ends_with("] c_2=2 c_3=3")) << lines[1];
}

TEST(WellFormed, TellsAnOutcomeThatCameLaterAsText) {
  LogOf log;
  const Position call = log.intend(log.ask({"c"}), 1);
  log.answer("c", call, in_doubt, "nobody knows");
  log.intend(log.ask({"c"}), 1);
  log.answer("c", call, succeeded, "paid");
  const Lines lines = told(log);
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_EQ(lines[1], "user c=nobody knows");
  EXPECT_TRUE(lines[3].starts_with("user c![outcome unknown")) << lines[3];
  EXPECT_TRUE(lines[3].ends_with("\"[known now of the earlier call of pay: succeeded] paid\""));
}

TEST(WellFormed, DoesNotAnswerACallWithTheOutcomeOfAnEarlierOne) {
  LogOf log;
  const Position call = log.intend(log.ask({"c"}), 1);
  log.answer("c", call, in_doubt, "nobody knows");
  log.ask({"c"});
  log.answer("c", call, succeeded, "paid");
  const Lines lines = told(log);
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_TRUE(lines[3].starts_with("user c!" + no_record)) << lines[3];
}

TEST(WellFormed, PrefersTheFinalOutcomeOfTheSameTurn) {
  LogOf log;
  const Position call = log.intend(log.ask({"c"}), 1);
  log.answer("c", call, in_doubt, "nobody knows");
  log.answer("c", call, succeeded, "paid");
  EXPECT_EQ(told(log)[1], "user c=paid");
}

TEST(WellFormed, SendsOnlyTheTextOfWhatWasCutOff) {
  LogOf log;
  Message cut = assistant_says("I will");
  cut.is_partial = true;
  cut.blocks.emplace_back(ReasoningBlock{.text = "half"});
  cut.blocks.emplace_back(ToolCallBlock{.id = "c", .args = "{\"to"});
  cut.blocks.emplace_back(OtherBlock{RawJson::from_text(R"({"kind":"image"})").value()});
  log.say(cut);
  cut.blocks.erase(cut.blocks.begin());
  log.say(cut);
  EXPECT_EQ(told(log), (Lines{"assistant \"I will\" \"[cut off here]\""}));
  EXPECT_FALSE(provider_messages(log.state())[0].is_partial);
}

TEST(WellFormed, KeepsReasoningAndUnknownBlocksOfWholeMessages) {
  LogOf log;
  Message message = assistant_says("Hi");
  message.blocks.emplace_back(ReasoningBlock{.text = "whole"});
  message.blocks.emplace_back(OtherBlock{RawJson::from_text(R"({"kind":"image"})").value()});
  log.say(message);
  EXPECT_EQ(told(log), (Lines{"assistant \"Hi\" reasoning other"}));
}

// As a session does it: all calls of a response are answered when the next one is asked for.
TEST(GrowingHistoryTest, TellsEachMessageOnceInASessionThatGrows) {
  LogOf log;
  GrowingHistory growing;
  std::size_t told = 0;
  for (int turn = 0; turn < 20; ++turn) {
    log.say(user_says("go on"));
    HistoryNews news = growing.update(log.state());
    EXPECT_EQ(news.kept, told);
    EXPECT_EQ(news.added.size(), turn == 0 ? 1U : 2U) << "the answer before it, and the word";
    told += news.added.size();

    const Position call = log.intend(log.ask({"c1"}), 1);
    log.answer("c1", call, CallState::succeeded);
    news = growing.update(log.state());
    EXPECT_EQ(news.kept, told);
    EXPECT_EQ(news.added.size(), 2U) << "the response, and its results";
    told += news.added.size();
    log.say(assistant_says("done"));
  }
}

TEST(GrowingHistoryTest, TellsMuchInPartsThatEndWithATurn) {
  LogOf log;
  for (int turn = 0; turn < 20; ++turn) {
    log.say(user_says(std::string(100, 'q')));
    log.say(assistant_says(std::string(100, 'a')));
  }
  GrowingHistory growing;
  std::vector<Message> told;
  HistoryNews news{.has_more = true};
  std::size_t parts = 0;
  for (; news.has_more; ++parts) {
    news = growing.update(log.state(), 500);
    EXPECT_EQ(news.kept, told.size());
    EXPECT_LE(news.added.size(), 6U);
    told.insert(told.end(), news.added.begin(), news.added.end());
    const Role end = news.has_more ? Role::user : Role::assistant;
    EXPECT_EQ(told.back().role, end) << "a response begins the next part";
  }
  EXPECT_GE(parts, 7U);
  EXPECT_EQ(told, provider_messages(log.state()));
}

}  // namespace
}  // namespace perdure
