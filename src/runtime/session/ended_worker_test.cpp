// What is known of a process that ended is not forgotten with the one that knew it.

#include <chrono>
#include <future>
#include <gtest/gtest.h>
#include <string>
#include <utility>

#include "contract/backends.hpp"
#include "dispatch/turns_fixture.hpp"
#include "doubles/must.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "session/parts.hpp"
#include "store/api/lookup.hpp"

namespace perdure {
namespace {

class EndedWorkerTest : public TurnsTest {
 protected:
  /// A process dies after it dispatched a call that may be run again once nothing of it can land.
  void leave(SideEffects effects = {.write = true}) {
    Tool pay = tool("pay", effects);
    pay.verify = [this](const VerifyContext&) { return verdict; };
    begin({pay});
    must(session->record_response(asks_for({{"pay", "{}"}})));
    worker = session->lease().worker.text();
    restart();
  }
  void note(const std::string& ended) {
    must(store->inbox().post({.session = id,
                              .id = mint<MessageTag>(ids),
                              .kind = std::string(ended_worker_kind),
                              .body = Body::from_text(Json(ended).text())}));
  }
  CallsReport take_over() {
    auto resumed = must(runtime->resume(id));
    session = std::move(resumed.session);
    return resumed.report.calls;
  }

  Verdict verdict = NotLanded{};
  std::string worker;
};

TEST_P(EndedWorkerTest, LetsItsCallBeRunAgain) {
  leave();
  note(worker);
  EXPECT_FALSE(take_over().waiting);
  EXPECT_EQ(runs["pay"], 1);
}

TEST_P(EndedWorkerTest, OfWhichNobodyToldMayStillAct) {
  leave();
  note("another");
  EXPECT_TRUE(take_over().waiting);
  EXPECT_EQ(runs["pay"], 0);
}

TEST_P(EndedWorkerTest, IsRememberedByTheLog) {
  leave();
  note(worker);
  verdict = CannotTell{"the bank is closed"};
  ASSERT_TRUE(take_over().waiting);
  restart();
  verdict = NotLanded{};

  EXPECT_FALSE(take_over().waiting);
  EXPECT_EQ(runs["pay"], 1);
}

TEST_P(EndedWorkerTest, CouldSendUntilItEnded) {
  const Duration in_flight = Tool{}.in_flight_max;
  leave({.network = true, .mutate = true});
  note(worker);
  ASSERT_TRUE(take_over().waiting);
  clock.advance(in_flight / 2);
  restart();
  ASSERT_TRUE(take_over().waiting);
  clock.advance(in_flight / 2 + Duration(1));
  must(runtime->renew());

  EXPECT_FALSE(must(session->run_calls()).waiting) << "a second take-over prolongs nothing";
  EXPECT_EQ(runs["pay"], 1);
}

// It was in doubt from its timeout on, and went on.
TEST_P(EndedWorkerTest, NorCouldALateAttemptSendAfterItCameBack) {
  std::promise<void> gate;
  Tool pay = tool("pay", {.network = true, .mutate = true});
  pay.timeout = Duration(20);
  pay.verify = [](const VerifyContext&) -> Verdict { return NotLanded{}; };
  begin({pay}, {.stop_patience = Duration(1)});
  behaviour["pay"] = [opened = gate.get_future().share()](const CallContext&) -> ToolOutcome {
    opened.wait();
    return Doubtful{"connection lost"};
  };
  must(session->record_response(asks_for({{"pay", "{}"}})));
  ASSERT_TRUE(must(session->run_calls()).waiting);
  clock.advance(pay.in_flight_max + Duration(1));
  must(runtime->renew());
  gate.set_value();
  CallsReport report = must(session->run_calls());
  const auto patience = system_clock().uptime() + std::chrono::minutes(5);
  while (report.waiting && !report.waiting->until && system_clock().uptime() < patience) {
    report = must(session->run_calls());
  }

  ASSERT_TRUE(report.waiting) << "it came back just now";
  EXPECT_EQ(report.waiting->until, clock.now() + pay.in_flight_max);
  EXPECT_EQ(runs["pay"], 1);
}

INSTANTIATE_TEST_SUITE_P(Every, EndedWorkerTest, testing::ValuesIn(every_backend()),
                         [](const auto& named) { return named.param.name; });

}  // namespace
}  // namespace perdure
