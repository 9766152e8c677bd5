// Sessions that are paused or have ended: nothing starts in them, and nothing that was paid for
// is lost.

#include <gtest/gtest.h>
#include <string>

#include "contract/backends.hpp"
#include "dispatch/turns_fixture.hpp"
#include "doubles/must.hpp"
#include "perdure/core/error.hpp"
#include "perdure/runtime/mail.hpp"
#include "perdure/runtime/message.hpp"
#include "perdure/runtime/session.hpp"
#include "perdure/store/ledger.hpp"

namespace perdure {
namespace {

class StoppedTest : public TurnsTest {
 protected:
  void post_stop(bool cancels) {
    Mail mail(*store, id);
    const auto message = must(MessageId::parse("msg_stop"));
    if (cancels) must(mail.cancel(message, "ann", "enough"));
    if (!cancels) must(mail.pause(message, "ann", "wait"));
  }
};

ErrorCode code_of(const auto& result) { return result.error().code; }

TEST_P(StoppedTest, APauseKeepsCallsFromBeingMade) {
  begin({tool("one")});
  must(Mail(*store, id).pause(must(MessageId::parse("msg_1")), "ann", "wait"));
  must(session->take_inbox());

  must(session->answer(asks_for({{"one", "{}"}})));
  const auto refused = session->run_calls();

  ASSERT_FALSE(refused);
  EXPECT_EQ(code_of(refused), ErrorCode::conflict);
  EXPECT_EQ(runs["one"], 0);
  EXPECT_EQ(state_of(first_call()), CallState::intended);
  EXPECT_EQ(session->state().transcript.size(), 2U);

  must(session->set_status({.status = Status::active}));
  must(session->run_calls());
  EXPECT_EQ(runs["one"], 1);
}

TEST_P(StoppedTest, MailThatStopsItKeepsACallFromRunningThatWasDispatched) {
  for (const bool cancels : {false, true}) {
    begin({tool("one")});
    must(session->answer(asks_for({{"one", "{}"}, {"one", "{}"}})));
    post_stop(cancels);
    must(session->take_inbox());
    runs.clear();

    const auto refused = session->run_calls();

    ASSERT_FALSE(refused);
    EXPECT_EQ(code_of(refused), ErrorCode::conflict);
    EXPECT_EQ(runs["one"], 0);
    if (cancels) must(session->reopen("ann", "go on"));
    if (!cancels) must(session->set_status({.status = Status::active}));
    must(session->run_calls());
    EXPECT_EQ(runs["one"], cancels ? 0 : 2) << "what is cancelled is not begun any more";
  }
}

TEST_P(StoppedTest, MailThatStopsItIsHeededBeforeARecovery) {
  for (const bool cancels : {false, true}) {
    Tool one = tool("one");
    one.honours_key = true;
    begin({one});
    must(session->answer(asks_for({{"one", "{}"}, {"one", "{}"}})));
    post_stop(cancels);
    restart();
    runs.clear();

    const auto resumed = must(runtime->resume(id));

    EXPECT_EQ(resumed.session.status(), cancels ? Status::cancelled : Status::paused);
    EXPECT_EQ(runs["one"], 0);
    EXPECT_EQ(resumed.session.state().open_calls.size(), cancels ? 1U : 2U)
        << "one may have begun; the other is cancelled with its session";
  }
}

TEST_P(StoppedTest, NoModelIsAskedInASessionThatHasEnded) {
  begin({});
  must(session->answer({.role = Role::assistant, .blocks = {TextBlock{.text = "done"}}}));
  must(session->set_status({.status = Status::completed}));

  const auto refused = session->ask({}, user_says("more"));

  ASSERT_FALSE(refused);
  EXPECT_EQ(code_of(refused), ErrorCode::conflict);
  EXPECT_EQ(session->state().transcript.size(), 2U);
}

TEST_P(StoppedTest, InputToASessionThatHasEndedIsRefusedAndNotDropped) {
  begin({});
  must(session->answer({.role = Role::assistant, .blocks = {TextBlock{.text = "done"}}}));
  must(session->set_status({.status = Status::completed}));
  restart();

  const auto refused = runtime->resume(id, user_says("more"));

  ASSERT_FALSE(refused);
  EXPECT_EQ(code_of(refused), ErrorCode::conflict);
  const auto looked_at = runtime->resume(id);
  ASSERT_TRUE(looked_at);
  EXPECT_EQ(looked_at->session.status(), Status::completed);
}

INSTANTIATE_TEST_SUITE_P(Every, StoppedTest, testing::ValuesIn(every_backend()),
                         [](const auto& named) { return named.param.name; });

}  // namespace
}  // namespace perdure
