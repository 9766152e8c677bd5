// Holes of the design in the book's chapter 21 that the checkpointer closes, each by the
// number it has in docs/holes.md.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "book/book_session.hpp"
#include "contract/backends.hpp"
#include "doubles/must.hpp"
#include "perdure/adapters/checkpointer.hpp"
#include "perdure/core/error.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"

namespace perdure {
namespace {

class BookHoles : public BookSession {
 protected:
  BookHoles() { must(book->start_session(session)); }

  /// What a loop does with a call: runs it if it may, and counts that.
  std::string dispatch(const Checkpointer::ToolCall& call) {
    const auto answer = issue(call);
    if (const auto* done = std::get_if<Completed>(&answer)) return done->result.value_or("");
    if (std::holds_alternative<Pending>(answer)) return "nobody knows";
    ++effects;
    must(book->record_tool_call_result(session, std::get<MayRun>(answer).call,
                                       Succeeded{"effect " + std::to_string(effects)}));
    return "effect " + std::to_string(effects);
  }
  void die_and_resume() {
    restart();
    must(book->load_latest(session));
    must(book->start_session(session));
  }

  int effects = 0;
};

TEST_P(BookHoles, H1ACallIssuedAndUnfinishedIsSeenWhenItIsIssuedAgainUnderAnotherId) {
  (void)run(email("ann"));
  die_and_resume();
  auto again = email("ann");
  again.call_id = "call_of_the_new_sample";
  EXPECT_EQ(dispatch(again), "nobody knows");
  EXPECT_EQ(effects, 0);
}

TEST_P(BookHoles, H3RepeatsThatAreMeantRun) {
  Checkpointer::ToolCall write{.tool_name = "write_file", .repeat = Repeat::each_call};
  for (const char* text : {R"({"v":1})", R"({"v":2})", R"({"v":1})"}) {
    write.args = json(text);
    dispatch(write);
  }
  EXPECT_EQ(effects, 3);
}

TEST_P(BookHoles, H4AProvidersIdThatComesAgainMixesNothingUp) {
  EXPECT_EQ(dispatch(email("ann")), "effect 1");
  EXPECT_EQ(dispatch(email("bob")), "effect 2") << "the same call_id";
  EXPECT_EQ(dispatch(email("ann")), "effect 1");
  EXPECT_EQ(dispatch(email("bob")), "effect 2");
}

TEST_P(BookHoles, H5OfTwoWhoLookAtOnceOneActs) {
  std::optional<Result<Checkpointer::Issued>> first;
  std::optional<Result<Checkpointer::Issued>> second;
  {
    const std::jthread one([&] { first = book->record_tool_call_issued(session, email("ann")); });
    const std::jthread two([&] { second = book->record_tool_call_issued(session, email("ann")); });
  }
  EXPECT_NE(std::holds_alternative<MayRun>(must(*first)),
            std::holds_alternative<MayRun>(must(*second)));
}

TEST_P(BookHoles, H7AnExceptionDoesNotSayThatNothingHappened) {
  must(book->record_tool_call_result(session, run(email("ann")), Doubtful{"timed out"}));
  EXPECT_EQ(dispatch(email("ann")), "nobody knows");
  EXPECT_EQ(effects, 0);
}

TEST_P(BookHoles, H8ACallThatWasCancelledIsFoundAtAnyTime) {
  (void)run(email("ann"));
  EXPECT_EQ(must(book->check_pending_tool_calls(session)).size(), 1U) << "not only at a restart";
}

TEST_P(BookHoles, H9AKeyIsBoundToItsArguments) {
  Checkpointer::ToolCall pay{
      .tool_name = "pay", .args = json(R"({"order":7,"usd":10})"), .business_key = "/order"};
  dispatch(pay);
  pay.args = json(R"({"order":7,"usd":99})");
  EXPECT_EQ(code_of(book->record_tool_call_issued(session, pay)), ErrorCode::conflict);
}

TEST_P(BookHoles, H14KeysAreBuiltFromFieldsThatCannotRunTogether) {
  const auto other = must(SessionId::parse("session-alpha:a"));
  must(book->start_session(other));
  (void)dispatch({.tool_name = "a:b"});
  const auto second = must(book->record_tool_call_issued(other, {.tool_name = "b"}));
  EXPECT_TRUE(std::holds_alternative<MayRun>(second));
  dispatch({.tool_name = "pay", .args = json(R"({"usd":1,"to":"x"})")});
  dispatch({.tool_name = "pay", .args = json(R"({"to":"x", "usd":1.0})")});
  EXPECT_EQ(effects, 2) << "1 and 1.0 are one amount";
}

TEST_P(BookHoles, H16APlanComesBackAsItWas) {
  const auto plan = json(R"({"steps": [{"done_at": "2026-01-01T00:00:00+00:00"}], "n": 1.0})");
  must(book->save_checkpoint(session, {.plan = plan}));
  restart();
  EXPECT_EQ(must(book->load_latest(session)).value().content.plan, plan);
}

TEST_P(BookHoles, H17AndH20TheSystemPromptAndTheFirstQuestionSurviveTheFirstTurn) {
  const auto other = must(SessionId::parse("another"));
  must(book->start_session(other, list({said("system", "be kind"), said("user", "hello")})));
  restart();
  EXPECT_EQ(must(book->load_latest(other)).value().content.transcript.text(),
            "[" + said("system", "be kind") + "," + said("user", "hello") + "]");
}

TEST_P(BookHoles, H18ABudgetThatWasNotRestoredIsNoticed) {
  save({"1"}, 5'000'000);
  restart();
  must(book->start_session(session));
  EXPECT_EQ(code_of(book->save_checkpoint(
                session, {.transcript = list({"1", "2"}), .spent_micros = 1'000'000})),
            ErrorCode::invalid_argument);
}

TEST_P(BookHoles, H21ACompletedSessionDoesNotBecomeActiveByStartingIt) {
  must(book->end_session(session, Status::completed));
  EXPECT_EQ(code_of(book->start_session(session)), ErrorCode::conflict);
  EXPECT_EQ(must(store->sessions().read(session)).status, Status::completed);
}

TEST_P(BookHoles, H22WhoeverResumesLearnsOfEffectsTheTranscriptLacks) {
  save({said("user", "write to ann")});
  dispatch(email("ann"));
  restart();
  const auto loaded = must(book->load_latest(session)).value();
  ASSERT_EQ(loaded.done_since.size(), 1U);
  EXPECT_EQ(loaded.done_since[0].result, "effect 1");
}

TEST_P(BookHoles, H42AThousandTurnsCostAThousandTurnsOfText) {
  std::string transcript = "[";
  std::size_t bytes = 0;
  for (int turn = 1; turn <= 200; ++turn) {
    transcript += (turn > 1 ? "," : "") + said("user", std::string(400, 'x'));
    must(book->save_checkpoint(session, {.transcript = json(transcript + "]")}));
  }
  for (const Entry& entry : entries("transcript")) bytes += entry.body.bytes().size();
  EXPECT_LE(bytes, transcript.size());
}

TEST_P(BookHoles, H43AndH44OfTwoOwnersOneWritesAndVersionsDoNotInterleave) {
  EXPECT_EQ(save({"1"}), 1U);
  const auto other = make(8);
  EXPECT_EQ(code_of(other->start_session(session)), ErrorCode::lease_held);
  clock.advance(std::chrono::hours(1));
  must(other->start_session(session));
  EXPECT_EQ(code_of(book->save_checkpoint(session, {.transcript = list({"1", "9"})})),
            ErrorCode::lease_lost);
  EXPECT_EQ(must(other->save_checkpoint(session, {.transcript = list({"1", "2"})})), 2U);
}

TEST_P(BookHoles, H43WhoeverLostASessionIsNotToldWhatWasTrueBefore) {
  save({"1"});
  clock.advance(std::chrono::hours(1));
  const auto other = make(8);
  must(other->start_session(session));
  EXPECT_EQ(code_of(book->load_latest(session)), ErrorCode::lease_held);
}

TEST_P(BookHoles, H49ThereIsOneCompletedCallToFind) {
  must(book->record_tool_call_result(session, run(email("ann")), Failed{"refused"}));
  dispatch(email("ann"));
  dispatch(email("ann"));
  EXPECT_EQ(must(book->find_completed_call(session, email("ann")))->result, "effect 1");
  EXPECT_EQ(effects, 1);
}

INSTANTIATE_TEST_SUITE_P(EveryBackend, BookHoles, testing::ValuesIn(every_backend()),
                         [](const auto& backend) { return backend.param.name; });

}  // namespace
}  // namespace perdure
