// Two runtimes on one store, of which one is outdated: the first lost its lease while it was
// stopped somewhere between a commit and the record of what came of it. What the second does while
// the first stands still is done from within the first one's tool.

#include <chrono>
#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "contract/backends.hpp"
#include "dispatch/turns_fixture.hpp"
#include "doubles/must.hpp"
#include "perdure/core/error.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"

namespace perdure {
namespace {

class TwoRuntimesTest : public TurnsTest {
 protected:
  /// The first runtime has dispatched a call of the tool, and not run it.
  void dispatch(const Tool& with) {
    begin({with});
    rival = must(Runtime::start(*store, {.host = "there",
                                         .pid = 8,
                                         .renews_itself = false,
                                         .tools = must(Tools::of(tools)),
                                         .clock = &clock,
                                         .ids = &ids}));
    must(session->record_response(asks_for({{with.name, "{}"}})));
  }

  /// Its lease time passes, and the second runtime does what can be done.
  CallsReport take_over() {
    clock.advance(std::chrono::seconds(31));
    must(rival->renew());
    auto resumed = must(rival->resume(id));
    taken = std::move(resumed.session);
    return resumed.report.calls;
  }

  /// When the tool is run for the first time the process is stopped before it sends anything.
  void stop_before_sending() {
    behaviour["one"] = [this](const CallContext& call) -> ToolOutcome {
      if (call.fence == session->lease().fence) meanwhile = take_over();
      sent.push_back(call.key);
      return Succeeded{.content = "done"};
    };
  }

  void expect_lost() {
    const Position head = must(store->sessions().read(id)).head;
    const auto ran = session->run_calls();
    ASSERT_FALSE(ran);
    EXPECT_EQ(ran.error().code, ErrorCode::lease_lost);
    EXPECT_EQ(must(store->sessions().read(id)).head, taken ? taken->state().head : head);
  }

  std::unique_ptr<Runtime> rival;
  std::optional<Session> taken;
  CallsReport meanwhile;
  std::vector<std::string> sent;
};

TEST_P(TwoRuntimesTest, AnOutdatedOneStartsNothing) {
  dispatch(tool("one"));
  take_over();
  expect_lost();
  EXPECT_EQ(runs["one"], 0);
}

TEST_P(TwoRuntimesTest, AnOutdatedOneStartsNothingAfterALateRenewalEither) {
  dispatch(tool("one"));
  take_over();
  must(runtime->renew());
  expect_lost();
  EXPECT_EQ(runs["one"], 0);
}

TEST_P(TwoRuntimesTest, AfterALateRenewalItGoesOnIfNobodyElseTookTheSession) {
  dispatch(tool("one"));
  clock.advance(std::chrono::seconds(31));
  expect_lost();
  must(runtime->renew());

  must(session->run_calls());

  EXPECT_EQ(runs["one"], 1);
}

TEST_P(TwoRuntimesTest, ALateRequestUnderTheSameKeyIsTheSameOperation) {
  Tool one = tool("one");
  one.honours_key = true;
  dispatch(one);
  stop_before_sending();

  expect_lost();

  ASSERT_EQ(sent.size(), 2U);
  EXPECT_EQ(sent[0], sent[1]);
  EXPECT_EQ(meanwhile.retried, 1U);
  EXPECT_EQ(state_of(first_call()), CallState::succeeded);
}

TEST_P(TwoRuntimesTest, ALateRequestIsWaitedForBeforeAnotherIsSent) {
  Tool one = tool("one", {.network = true, .mutate = true});
  one.verify = [this](const VerifyContext&) -> Verdict {
    if (sent.empty()) return NotLanded{};
    return Landed{"done"};
  };
  dispatch(one);
  stop_before_sending();

  expect_lost();

  ASSERT_TRUE(meanwhile.waiting);
  EXPECT_EQ(meanwhile.waiting->what, Waiting::For::time);
  clock.advance(one.in_flight_max);
  must(rival->renew());
  must(taken->run_calls());
  EXPECT_EQ(sent.size(), 1U);
  EXPECT_EQ(state_of(first_call()), CallState::succeeded);
}

TEST_P(TwoRuntimesTest, ALateRequestThatNobodyCanTellOfIsInDoubt) {
  dispatch(tool("one"));
  stop_before_sending();

  expect_lost();

  ASSERT_TRUE(meanwhile.waiting);
  EXPECT_EQ(meanwhile.waiting->what, Waiting::For::decision);
  EXPECT_EQ(sent.size(), 1U);
  EXPECT_EQ(state_of(first_call()), CallState::in_doubt);
}

TEST_P(TwoRuntimesTest, ACallThatIsAboutToRunIsNotResolved) {
  dispatch(tool("one"));
  const auto refused = session->resolve(
      first_call(), {.as = Decision::As::abandoned, .who = "ann", .why = "in a hurry"});

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::conflict);
  must(session->run_calls());
  EXPECT_EQ(state_of(first_call()), CallState::succeeded);
}

INSTANTIATE_TEST_SUITE_P(Every, TwoRuntimesTest, testing::ValuesIn(every_backend()),
                         [](const auto& named) { return named.param.name; });

}  // namespace
}  // namespace perdure
