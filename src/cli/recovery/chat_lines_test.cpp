// What is typed in a chat while a call waits.

#include <gtest/gtest.h>
#include <optional>
#include <utility>

#include "doubles/must.hpp"
#include "fixture.hpp"
#include "perdure/core/id.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/log.hpp"
#include "recovery/terminal_input.hpp"
#include "runtime/api/state_details.hpp"

namespace perdure::cli {
namespace {

const std::optional<Waiting> question =
    Waiting{.call = 6, .tool = "ask_user", .what = Waiting::For::approval};
const std::optional<Waiting> payment =
    Waiting{.call = 6, .tool = "pay", .what = Waiting::For::approval};

TEST(GivenWord, ALineAnswersAQuestionAndNothingElse) {
  const WordLine line = read_word("No, the blue one", question);
  ASSERT_TRUE(line.word);
  EXPECT_TRUE(line.word->allow);
  EXPECT_EQ(line.word->why, "No, the blue one");
  EXPECT_FALSE(read_word("No, the blue one", payment).word);
  EXPECT_FALSE(read_word("No", std::nullopt).word);
}

TEST(GivenWord, ABareYesOrNoIsAboutTheCallThatWaits) {
  for (const char* line : {"y", "yes", "Yes.", "  YES! "}) {
    EXPECT_TRUE(read_word(line, payment).word.value().allow) << line;
  }
  for (const char* line : {"n", "no", "No.", " NO"}) {
    EXPECT_FALSE(read_word(line, payment).word.value().allow) << line;
    EXPECT_EQ(read_word(line, payment).word.value().why, "no") << line;
  }
  for (const char* line : {"yes, and order 4712", "nope", "yesterday", "?", ".", ""}) {
    const WordLine read = read_word(line, payment);
    EXPECT_FALSE(read.word) << line;
    EXPECT_TRUE(read.complaint.empty()) << line;
  }
  EXPECT_EQ(read_word("no", question).word.value().why, "no") << "that is its answer";
  EXPECT_TRUE(read_word("no", question).word.value().allow);
}

TEST(GivenWord, ACallIsApprovedOrDenied) {
  EXPECT_TRUE(read_word("/approve", payment).word.value().allow);
  EXPECT_EQ(read_word("/approve  it is due", payment).word.value().why, "it is due");
  EXPECT_FALSE(read_word("/deny not now", payment).word.value().allow);
  EXPECT_EQ(read_word("/deny not now", payment).word.value().why, "not now");
  EXPECT_TRUE(read_word("/overrule", payment).word.value().overrules);
  EXPECT_FALSE(read_word("/approve", payment).word.value().overrules);
  EXPECT_FALSE(read_word("/deny not now", question).word.value().allow);
}

TEST(GivenWord, IsTheLastOne) {
  CliFixture fixture;
  fixture.fill();
  const SessionId id = must(SessionId::parse("ses_8e1f00"));
  Session session = fixture.hold(id);
  const Position call = session.state().details->open_calls.begin()->first;
  must(Mail(fixture.store(), id)
           .approve(must(MessageId::parse("msg_before")), call, true, "bob", "go ahead"));

  must(give_word(session, call, {.allow = false, .why = "not now"}, "ana"));

  must(session.take_inbox());
  const auto words = must(fixture.store().log().read(id, {.channel = "approvals"}));
  EXPECT_EQ(words.back().kind, "refused");
}

TEST(GivenWord, OverrulesADenialOnlyIfItSaysSo) {
  CliFixture fixture;
  fixture.fill();
  const SessionId id = must(SessionId::parse("ses_8e1f00"));
  Session session = fixture.hold(id);
  const Position call = session.state().details->open_calls.begin()->first;
  must(Mail(fixture.store(), id)
           .approve(must(MessageId::parse("msg_before")), call, false, "ben", "too much"));

  const auto refused = give_word(session, call, read_word("yes", payment).word.value(), "ana");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().subject, "call_denied");
  EXPECT_TRUE(refused.error().message.contains("denied by ben (too much)"))
      << refused.error().message;
  must(give_word(session, call, read_word("/overrule it is due", payment).word.value(), "ana"));

  const auto words = must(fixture.store().log().read(id, {.channel = "approvals"}));
  EXPECT_EQ(words.back().kind, "given");
  EXPECT_TRUE(words.back().body.bytes().contains("overrules: denied by ben (too much)"))
      << words.back().body.bytes();
}

TEST(GivenWord, WhatIsMissingIsSaid) {
  for (const auto& [line, waiting] : {std::pair{"/deny", payment},
                                      {"/deny  ", payment},
                                      {"/approve", question},
                                      {"/overrule", question},
                                      {"/overrule", std::optional<Waiting>()},
                                      {"/approve", std::optional<Waiting>()},
                                      {"/deny it", std::optional<Waiting>()}}) {
    const WordLine read = read_word(line, waiting);
    EXPECT_FALSE(read.word) << line;
    EXPECT_FALSE(read.complaint.empty()) << line;
  }
}

TEST(GivenWord, OtherCommandsAreLeftAlone) {
  for (const char* line : {"/cost", "/approved", "/denying it"}) {
    const WordLine read = read_word(line, payment);
    EXPECT_FALSE(read.word) << line;
    EXPECT_TRUE(read.complaint.empty()) << line;
  }
}

}  // namespace
}  // namespace perdure::cli
