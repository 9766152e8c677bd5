// Calls that were not begun when somebody said stop.

#include <cstdint>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stop_token>
#include <variant>

#include "contract/backends.hpp"
#include "dispatch/turns_fixture.hpp"
#include "doubles/must.hpp"
#include "perdure/core/id.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "runtime/api/state_details.hpp"

namespace perdure {
namespace {

using ::testing::HasSubstr;

class CancelTest : public TurnsTest {
 protected:
  /// Two payments are asked for; the first is begun, and stopped after.
  void interrupt_after_the_first() {
    begin({tool("pay")});
    std::stop_source stop;
    behaviour["pay"] = [&](const CallContext&) -> ToolOutcome {
      stop.request_stop();
      return Succeeded{"paid"};
    };
    must(session->record_response(asks_for({{"pay", R"({"n": 1})"}, {"pay", R"({"n": 2})"}})));
    must(session->run_calls(stop.get_token()));
    behaviour.clear();
  }

  [[nodiscard]] Call last_call() { return must(store->ledger().list({.session = id})).back(); }
};

TEST_P(CancelTest, TheyAreCancelledTogetherWithWhatTheUserSaid) {
  interrupt_after_the_first();
  const auto before = must(store->sessions().read(id)).head;

  EXPECT_EQ(must(session->cancel_calls("the user interrupted", user_says("No!"))), 1U);

  EXPECT_EQ(last_call().state, CallState::cancelled);
  EXPECT_EQ(must(store->sessions().read(id)).head, before + 2) << "the result and the input";
  EXPECT_TRUE(session->state().details->open_calls.empty());
  EXPECT_THAT(result_of(2, 1), HasSubstr("not started: the user interrupted"));
  EXPECT_EQ(text_of(session->state().transcript.back().message), "No!");
  must(session->run_calls());
  restart();
  session = must(runtime->resume(id)).session;
  must(session->run_calls());
  EXPECT_EQ(runs["pay"], 1);
}

TEST_P(CancelTest, WhereThereIsNoneNothingIsWritten) {
  begin({tool("pay")});
  must(session->record_response(asks_for({{"pay", "{}"}})));
  must(session->run_calls());
  const auto before = must(store->sessions().read(id)).head;

  EXPECT_EQ(must(session->cancel_calls("so", user_says("No!"))), 0U);

  EXPECT_EQ(must(store->sessions().read(id)).head, before);
}

TEST_P(CancelTest, WhatIsDispatchedAndNotBegunIsKnownNotToHaveHappened) {
  begin({tool("pay")});
  must(session->record_response(asks_for({{"pay", R"({"n": 1})"}, {"pay", R"({"n": 2})"}})));

  EXPECT_EQ(must(session->cancel_calls("so", user_says("No!"))), 2U);

  EXPECT_EQ(state_of(first_call()), CallState::failed);
  EXPECT_EQ(last_call().state, CallState::cancelled);
  must(session->run_calls());
  EXPECT_EQ(runs["pay"], 0);
}

class StoppedReadTest : public CancelTest {
 protected:
  /// A read is asked to stop, and says that it does not know.
  void stop_a_read() {
    begin({tool("look", {.read = true})});
    std::stop_source stop;
    behaviour["look"] = [&](const CallContext&) -> ToolOutcome {
      stop.request_stop();
      return Doubtful{"killed"};
    };
    must(session->record_response(asks_for({{"look", "{}"}})));
    EXPECT_EQ(must(session->run_calls(stop.get_token())).in_doubt, 0U);
    behaviour.clear();
  }
  [[nodiscard]] std::int64_t attention() { return must(store->sessions().read(id)).attention; }
};

TEST_P(StoppedReadTest, IsNoDoubtForAPersonAndRunsAgain) {
  stop_a_read();
  EXPECT_EQ(state_of(first_call()), CallState::dispatched);
  EXPECT_EQ(attention(), 0);
  restart();
  session = must(runtime->resume(id)).session;
  EXPECT_EQ(state_of(first_call()), CallState::succeeded);
  EXPECT_EQ(runs["look"], 2);
}

TEST_P(StoppedReadTest, ThatWasDispatchedAndNotBegunIsEndedOnce) {
  begin({tool("look", {.read = true})});
  must(session->record_response(asks_for({{"look", "{}"}})));
  EXPECT_EQ(must(session->cancel_calls("so", user_says("No!"))), 1U);
  EXPECT_EQ(state_of(first_call()), CallState::failed);
  EXPECT_EQ(runs["look"], 0);
}

TEST_P(StoppedReadTest, EndsWithItsCancelledSession) {
  stop_a_read();
  must(session->set_status({.status = Status::cancelled}));
  EXPECT_EQ(state_of(first_call()), CallState::failed);
  EXPECT_EQ(attention(), 0);
  EXPECT_TRUE(session->state().details->open_calls.empty());
}

TEST_P(StoppedReadTest, EndsWithWhatTheUserSaysInstead) {
  stop_a_read();
  EXPECT_EQ(must(session->cancel_calls("the user interrupted", user_says("No!"))), 1U);
  EXPECT_EQ(state_of(first_call()), CallState::failed);
  EXPECT_THAT(result_of(2, 0), HasSubstr("stopped: the user interrupted"));
}

INSTANTIATE_TEST_SUITE_P(Every, StoppedReadTest, testing::ValuesIn(every_backend()),
                         [](const auto& named) { return named.param.name; });

// Its second attempt has not begun, but the first may have taken effect.
TEST_P(CancelTest, ASecondAttemptThatIsNotBegunDoesNotSettleTheFirst) {
  Tool pay = tool("pay");
  pay.honours_key = true;
  pay.attempts_max = 3;
  begin({pay});
  behaviour["pay"] = [](const CallContext&) -> ToolOutcome { return Doubtful{"lost"}; };
  std::stop_source stop;
  must(session->record_response(asks_for({{"pay", "{}"}})));
  behaviour["pay"] = [&](const CallContext& call) -> ToolOutcome {
    if (call.attempt == 2) stop.request_stop();
    return Doubtful{"lost"};
  };
  must(session->run_calls(stop.get_token()));
  must(session->set_status({.status = Status::cancelled}));
  EXPECT_EQ(state_of(first_call()), CallState::in_doubt);
}

TEST_P(CancelTest, ASessionThatIsCancelledKeepsNoneFromBeingSettled) {
  interrupt_after_the_first();

  must(session->set_status({.status = Status::cancelled}));

  EXPECT_EQ(last_call().state, CallState::cancelled);
  must(session->reopen("ann", "after all"));
  must(session->run_calls());
  EXPECT_EQ(runs["pay"], 1);
}

TEST_P(CancelTest, ACancellationByMailSettlesThemToo) {
  interrupt_after_the_first();
  must(Mail(*store, id).cancel(mint<MessageTag>(ids), "ann", "enough"));

  must(session->take_inbox());

  EXPECT_EQ(session->status(), Status::cancelled);
  EXPECT_EQ(last_call().state, CallState::cancelled);
}

INSTANTIATE_TEST_SUITE_P(Every, CancelTest, testing::ValuesIn(every_backend()),
                         [](const auto& named) { return named.param.name; });

}  // namespace
}  // namespace perdure
