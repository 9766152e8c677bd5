// Sessions that are paused or have ended: nothing starts in them, and nothing that was paid for
// is lost. And resumes that are asked to stop.

#include <chrono>
#include <condition_variable>
#include <functional>
#include <future>
#include <gtest/gtest.h>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

#include "contract/backends.hpp"
#include "dispatch/turns_fixture.hpp"
#include "doubles/must.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"
#include "runtime/api/session.hpp"
#include "runtime/api/state_details.hpp"

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

  must(session->record_response(asks_for({{"one", "{}"}})));
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
    must(session->record_response(asks_for({{"one", "{}"}, {"one", "{}"}})));
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
    must(session->record_response(asks_for({{"one", "{}"}, {"one", "{}"}})));
    post_stop(cancels);
    restart();
    runs.clear();

    const auto resumed = must(runtime->resume(id));

    EXPECT_EQ(resumed.session.status(), cancels ? Status::cancelled : Status::paused);
    EXPECT_EQ(runs["one"], 0);
    EXPECT_EQ(resumed.session.state().details->open_calls.size(), cancels ? 1U : 2U)
        << "one may have begun; the other is cancelled with its session";
  }
}

TEST_P(StoppedTest, NoModelIsAskedInASessionThatHasEnded) {
  begin({});
  must(session->record_response({.role = Role::assistant, .blocks = {TextBlock{.text = "done"}}}));
  must(session->set_status({.status = Status::completed}));

  const auto refused = session->record_request({}, user_says("more"));

  ASSERT_FALSE(refused);
  EXPECT_EQ(code_of(refused), ErrorCode::conflict);
  EXPECT_EQ(session->state().transcript.size(), 2U);
}

TEST_P(StoppedTest, InputToASessionThatHasEndedIsRefusedAndNotDropped) {
  begin({});
  must(session->record_response({.role = Role::assistant, .blocks = {TextBlock{.text = "done"}}}));
  must(session->set_status({.status = Status::completed}));
  restart();

  const auto refused = runtime->resume(id, {.input = user_says("more")});

  ASSERT_FALSE(refused);
  EXPECT_EQ(code_of(refused), ErrorCode::conflict);
  const auto looked_at = runtime->resume(id);
  ASSERT_TRUE(looked_at);
  EXPECT_EQ(looked_at->session.status(), Status::completed);
}

class StoppedResume : public TurnsTest {
 protected:
  /// A call was dispatched by a process that died; its tool can be asked.
  void leave_dispatched(const std::function<Verdict(const VerifyContext&)>& verify) {
    Tool pay = tool("pay", {.write = true});
    pay.verify_timeout = std::chrono::hours(1);
    pay.verify = verify;
    begin({pay});
    must(session->record_response(asks_for({{"pay", "{}"}})));
    restart();
  }

  static Verdict until_stopped(const VerifyContext& context) {
    std::mutex mutex;
    std::condition_variable_any over;
    std::unique_lock lock(mutex);
    over.wait(lock, context.stop, [] { return false; });
    return CannotTell{"it was stopped"};
  }

  std::stop_source stop;
};

TEST_P(StoppedResume, WaitsForNoOwner) {
  begin({});
  const auto other = must(Runtime::start(
      *store, {.host = "there", .pid = 8, .renews_itself = false, .clock = &clock, .ids = &ids}));
  const std::jthread stopper([this] { stop.request_stop(); });

  const auto refused = other->resume(id, {.wait = std::chrono::hours(1), .stop = stop.get_token()});

  ASSERT_FALSE(refused);
  EXPECT_EQ(code_of(refused), ErrorCode::lease_held);
  EXPECT_EQ(code_of(other->open(id, std::chrono::hours(1), stop.get_token())),
            ErrorCode::lease_held);
}

TEST_P(StoppedResume, StopsAVerifyAndTheNextAsksAgain) {
  int asked = 0;
  leave_dispatched([&](const VerifyContext& context) -> Verdict {
    if (++asked > 1) return Landed{"paid"};
    stop.request_stop();
    return until_stopped(context);
  });

  auto resumed = must(runtime->resume(id, {.input = user_says("And?"), .stop = stop.get_token()}));

  EXPECT_EQ(resumed.report.calls.verified, 0U);
  EXPECT_EQ(state_of(first_call()), CallState::dispatched) << "nothing is known of it";
  EXPECT_EQ(text_of(resumed.session.state().transcript.back().message), "And?");
  EXPECT_EQ(must(resumed.session.run_calls()).verified, 1U);
  EXPECT_EQ(state_of(first_call()), CallState::succeeded);
  EXPECT_EQ(runs["pay"], 0);
}

TEST_P(StoppedResume, DoesNotWaitForAVerifyThatDoesNotStop) {
  std::promise<void> goes_on;
  leave_dispatched([&](const VerifyContext&) -> Verdict {
    stop.request_stop();
    goes_on.get_future().wait();
    return CannotTell{"too late"};
  });

  auto resumed = must(runtime->resume(id, {.stop = stop.get_token()}));

  EXPECT_EQ(state_of(first_call()), CallState::dispatched);
  const auto refused = resumed.session.close(Duration(1));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            "a verify did not stop: the session stays held; close it again later");
  goes_on.set_value();
  must(resumed.session.close());
}

TEST_P(StoppedResume, StartsNothingIfItWasAskedBefore) {
  begin({tool("pay")});
  must(Mail(*store, id).pause(must(MessageId::parse("msg_1")), "ann", "wait"));
  must(session->take_inbox());
  must(session->record_response(asks_for({{"pay", "{}"}})));
  must(session->set_status({.status = Status::active}));
  restart();
  stop.request_stop();

  session = std::move(must(runtime->resume(id, {.stop = stop.get_token()})).session);

  EXPECT_EQ(state_of(first_call()), CallState::intended);
  EXPECT_EQ(runs["pay"], 0);
  must(session->run_calls());
  EXPECT_EQ(runs["pay"], 1);
}

// Whoever ran the calls was asked to stop, not whoever asks afterwards.
TEST_P(StoppedResume, LeavesTheSessionFreeToAskLater) {
  int asked = 0;
  leave_dispatched([&](const VerifyContext&) -> Verdict {
    if (++asked > 1) return Landed{"paid"};
    return CannotTell{"the bank is closed"};
  });
  stop.request_stop();
  session = std::move(must(runtime->resume(id)).session);
  must(session->run_calls(stop.get_token()));
  ASSERT_EQ(state_of(first_call()), CallState::in_doubt);

  must(verify_call(*session, first_call()));

  EXPECT_EQ(state_of(first_call()), CallState::succeeded);
}

class BoundedClose : public TurnsTest {};

TEST_P(BoundedClose, KeepsTheSessionWhileAToolRuns) {
  Tool pay = tool("pay");
  pay.timeout = Duration(1);
  begin({pay}, {.stop_patience = Duration(1)});
  std::promise<void> goes_on;
  behaviour["pay"] = [&](const CallContext&) -> ToolOutcome {
    goes_on.get_future().wait();
    return Succeeded{"paid"};
  };
  must(session->record_response(asks_for({{"pay", "{}"}})));
  must(session->run_calls());

  const auto refused = session->close(Duration(1));

  ASSERT_FALSE(refused);
  EXPECT_EQ(code_of(refused), ErrorCode::unavailable);
  EXPECT_NE(refused.error().message.find("call " + std::to_string(first_call())), std::string::npos)
      << refused.error().message;
  const auto other = must(Runtime::start(
      *store, {.host = "there", .pid = 8, .renews_itself = false, .clock = &clock, .ids = &ids}));
  EXPECT_EQ(code_of(other->open(id)), ErrorCode::lease_held);
  goes_on.set_value();
  must(session->close(std::chrono::minutes(2)));
  EXPECT_EQ(state_of(first_call()), CallState::succeeded) << "what it said is recorded";
  EXPECT_TRUE(other->open(id));
}

TEST_P(BoundedClose, OfASessionWhereNothingRunsIsAClose) {
  begin({tool("pay")});
  must(session->record_response(asks_for({{"pay", "{}"}})));
  must(session->run_calls());
  must(session->close(Duration(0)));
  EXPECT_EQ(code_of(session->append(user_says("late"))), ErrorCode::lease_lost);
}

INSTANTIATE_TEST_SUITE_P(Every, StoppedResume, testing::ValuesIn(every_backend()),
                         [](const auto& named) { return named.param.name; });
INSTANTIATE_TEST_SUITE_P(Every, BoundedClose, testing::ValuesIn(every_backend()),
                         [](const auto& named) { return named.param.name; });
INSTANTIATE_TEST_SUITE_P(Every, StoppedTest, testing::ValuesIn(every_backend()),
                         [](const auto& named) { return named.param.name; });

}  // namespace
}  // namespace perdure
