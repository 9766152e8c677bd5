// Hole 13: an attempt whose time is over may still act, so nothing new starts until it is back.

#include <chrono>
#include <future>
#include <gtest/gtest.h>

#include "contract/backends.hpp"
#include "doubles/must.hpp"
#include "holes/hole_session.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"

namespace perdure {
namespace {

class Hole13 : public HoleSession {
 protected:
  /// Until nothing is waited for, or for five minutes.
  CallsReport run_to_the_end() {
    const auto deadline = system_clock().uptime() + std::chrono::minutes(5);
    CallsReport report = must(session->run_calls());
    while (report.waiting && system_clock().uptime() < deadline) {
      report = must(session->run_calls());
    }
    return report;
  }
};

TEST_P(Hole13, NothingNewStartsWhileALateAttemptRuns) {
  std::promise<void> gate;
  const std::shared_future<void> opened = gate.get_future().share();
  Tool pay = tool("pay");
  pay.honours_key = true;
  pay.timeout = Duration(50);
  begin({pay}, {.stop_patience = Duration(1)});
  behaviour["pay"] = [opened](const CallContext& call) -> ToolOutcome {
    if (call.attempt == 1) opened.wait();
    return Succeeded{"paid"};
  };

  const CallsReport late = turn({{"pay", "{}"}});
  const CallsReport again = must(session->run_calls());
  const auto decided = code_of(session->resolve(
      ledger().at(0).position, {.as = Decision::As::retry, .who = "ann", .why = "impatient"}));
  gate.set_value();
  const CallsReport end = run_to_the_end();

  ASSERT_TRUE(late.waiting);
  EXPECT_EQ(late.waiting->what, Waiting::For::time);
  EXPECT_TRUE(again.waiting);
  EXPECT_EQ(decided, ErrorCode::conflict);
  EXPECT_FALSE(end.waiting);
  EXPECT_EQ(runs("pay"), 1);
  EXPECT_EQ(ledger().at(0).state, CallState::succeeded);
  EXPECT_EQ(last_result(), "paid");
}

INSTANTIATE_TEST_SUITE_P(EveryBackend, Hole13, testing::ValuesIn(every_backend()), backend_name);

}  // namespace
}  // namespace perdure
