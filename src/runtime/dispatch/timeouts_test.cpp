// Calls whose time is over: asked to stop, waited for, and decided about like any other without an
// outcome; what comes back too late is not lost.

#include <chrono>
#include <condition_variable>
#include <future>
#include <gtest/gtest.h>
#include <mutex>
#include <stop_token>

#include "contract/backends.hpp"
#include "dispatch/turns_fixture.hpp"
#include "doubles/must.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/sessions.hpp"
#include "runtime/api/state_details.hpp"

namespace perdure {
namespace {

// As a program does that is ended: it says nothing before it is asked to stop.
ToolOutcome until_asked_to_stop(const CallContext& call) {
  std::mutex mutex;
  std::condition_variable_any asked;
  std::unique_lock lock(mutex);
  asked.wait(lock, call.stop, [] { return false; });
  return Doubtful{"it was ended"};
}

class TimeoutsTest : public TurnsTest {
 protected:
  static Tool hasty(Tool tool) {
    tool.timeout = Duration(1);
    return tool;
  }
};

TEST_P(TimeoutsTest, AreWaitedForAndAskedAbout) {
  begin({hasty(tool("pay"))});
  behaviour["pay"] = until_asked_to_stop;
  must(session->record_response(asks_for({{"pay", "{}"}})));

  const CallsReport report = must(session->run_calls());

  ASSERT_TRUE(report.waiting);
  EXPECT_EQ(report.waiting->what, Waiting::For::decision);
  EXPECT_EQ(state_of(first_call()), CallState::in_doubt);
  const OpenCall& open = session->state().details->open_calls.begin()->second;
  EXPECT_TRUE(open.ended_at);
  EXPECT_EQ(runs["pay"], 1);
}

TEST_P(TimeoutsTest, SayHowLongSomebodyWaited) {
  begin({hasty(tool("pay"))}, {.on_doubt = OnDoubt::tell_model});
  behaviour["pay"] = until_asked_to_stop;
  must(session->record_response(asks_for({{"pay", "{}"}})));
  must(session->run_calls());
  EXPECT_EQ(session->state().details->open_calls.begin()->second.doubt,
            "no answer within 1 ms; it was ended");
}

TEST_P(TimeoutsTest, AreVerifiedAndRunAgainAtOnce) {
  Tool pay = hasty(tool("pay"));
  pay.verify = [](const VerifyContext&) -> Verdict { return NotLanded{}; };
  begin({pay});
  behaviour["pay"] = [](const CallContext& call) -> ToolOutcome {
    return call.attempt == 1 ? until_asked_to_stop(call) : ToolOutcome(Succeeded{"paid"});
  };
  must(session->record_response(asks_for({{"pay", "{}"}})));

  EXPECT_FALSE(must(session->run_calls()).waiting);

  EXPECT_EQ(state_of(first_call()), CallState::succeeded);
  EXPECT_EQ(runs["pay"], 2);
}

TEST_P(TimeoutsTest, WhoeverIsAskedToStopWaitsForNoVerifyAndTheNextAsksAgain) {
  std::stop_source stop;
  int asked = 0;
  Tool pay = hasty(tool("pay"));
  pay.verify_timeout = std::chrono::hours(1);
  pay.verify = [&](const VerifyContext& context) -> Verdict {
    if (++asked > 1) return Landed{.content = "paid"};
    stop.request_stop();
    std::mutex mutex;
    std::condition_variable_any cut_off;
    std::unique_lock lock(mutex);
    cut_off.wait(lock, context.stop, [] { return false; });
    return CannotTell{"it was ended"};
  };
  begin({pay});
  behaviour["pay"] = until_asked_to_stop;
  must(session->record_response(asks_for({{"pay", "{}"}})));

  EXPECT_FALSE(must(session->run_calls(stop.get_token())).waiting);
  EXPECT_EQ(session->status(), Status::active);

  EXPECT_FALSE(must(session->run_calls()).waiting);
  EXPECT_EQ(state_of(first_call()), CallState::succeeded);
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(runs["pay"], 1);
}

TEST_P(TimeoutsTest, EndEachAtItsOwnTime) {
  Tool slow = tool("slow", {.read = true});
  slow.timeout = std::chrono::hours(1);
  Tool quick = hasty(tool("quick", {.read = true}));
  begin({slow, quick});
  std::promise<void> over;
  behaviour["slow"] = [&, done = over.get_future().share()](const CallContext&) -> ToolOutcome {
    done.wait();
    return Succeeded{"slow"};
  };
  behaviour["quick"] = [&](const CallContext& call) -> ToolOutcome {
    if (call.attempt > 1) return Succeeded{"quick"};
    const ToolOutcome outcome = until_asked_to_stop(call);
    over.set_value();
    return outcome;
  };
  must(session->record_response(asks_for({{"slow", "{}"}, {"quick", "{}"}})));

  EXPECT_FALSE(must(session->run_calls()).waiting);

  EXPECT_EQ(runs["slow"], 1);
  EXPECT_EQ(runs["quick"], 2);
}

TEST_P(TimeoutsTest, ThatComeBackBeforeTheSessionIsGivenUpAreRecorded) {
  begin({hasty(tool("pay"))}, {.stop_patience = Duration(1)});
  std::promise<void> goes_on;
  behaviour["pay"] = [&](const CallContext&) -> ToolOutcome {
    goes_on.get_future().wait();
    return Succeeded{"paid"};
  };
  must(session->record_response(asks_for({{"pay", "{}"}})));
  ASSERT_TRUE(must(session->run_calls()).waiting);
  EXPECT_EQ(state_of(first_call()), CallState::in_doubt);
  goes_on.set_value();

  session.reset();

  EXPECT_EQ(state_of(first_call()), CallState::succeeded);
  EXPECT_EQ(must(store->sessions().read(id)).status, Status::active);
}

// Verify looks at once, the old request arrives after that, and only then verify answers.
TEST_P(TimeoutsTest, AVerifyThatWasAskedTooEarlyIsAskedAgain) {
  int paid = 0;
  Tool pay = tool("pay", {.network = true, .mutate = true});
  pay.in_flight_max = Duration(1000);
  pay.verify = [&](const VerifyContext&) -> Verdict {
    const bool is_there = paid > 0;
    clock.advance(Duration(500));
    if (paid == 0) ++paid;
    clock.advance(Duration(1500));
    if (is_there) return Landed{"paid"};
    return NotLanded{};
  };
  behaviour["pay"] = [&](const CallContext& call) -> ToolOutcome {
    if (call.attempt == 1) return Doubtful{"line cut"};
    ++paid;
    return Succeeded{"paid again"};
  };
  begin({pay});
  must(session->record_response(asks_for({{"pay", "{}"}})));
  auto report = must(session->run_calls());
  while (report.waiting && report.waiting->until) {
    clock.advance(*report.waiting->until - clock.now() + Duration(1));
    must(runtime->renew());
    report = must(session->run_calls());
  }
  EXPECT_EQ(paid, 1);
  EXPECT_EQ(result_of(2), "paid");
}

INSTANTIATE_TEST_SUITE_P(Every, TimeoutsTest, testing::ValuesIn(every_backend()),
                         [](const auto& named) { return named.param.name; });

}  // namespace
}  // namespace perdure
