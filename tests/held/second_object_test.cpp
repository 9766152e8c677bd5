// At most one live object of a session under a worker: whoever opens it while another object of this
// process holds it is refused, or waits. Two would make its calls twice.

#include <chrono>
#include <future>
#include <gtest/gtest.h>
#include <optional>
#include <string>
#include <utility>

#include "contract/backends.hpp"
#include "dispatch/turns_fixture.hpp"
#include "doubles/must.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/message.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/session.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"

namespace perdure {
namespace {

using std::chrono::hours;

class SecondObject : public TurnsTest {
 protected:
  template <class T>
  static void expect_refused(const Result<T>& opened) {
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, ErrorCode::lease_held);
    EXPECT_NE(opened.error().message.find("this process"), std::string::npos)
        << opened.error().message;
  }

  /// A tool that can be verified, and whose run waits for `may_return`.
  Tool slow_tool() {
    Tool slow = tool("pay");
    slow.verify = [](const VerifyContext&) -> Verdict { return NotLanded{}; };
    behaviour["pay"] = [this](const CallContext&) -> ToolOutcome {
      has_begun.set_value();
      may_return.get_future().wait();
      return Succeeded{.content = "paid"};
    };
    return slow;
  }

  std::promise<void> has_begun;
  std::promise<void> may_return;
};

TEST_P(SecondObject, IsRefusedWhileTheFirstLives) {
  begin({});
  expect_refused(runtime->open(id));
  expect_refused(runtime->resume(id));
  // The refused ones took nothing away.
  must(session->append(user_says("still ours")));

  session.reset();

  EXPECT_TRUE(runtime->open(id));
}

TEST_P(SecondObject, MayBeOpenedOnceTheFirstIsClosed) {
  begin({});
  must(session->close());

  const auto second = must(runtime->open(id));

  EXPECT_FALSE(session->append(user_says("closed")));
}

TEST_P(SecondObject, MovingASessionKeepsItHeldOnce) {
  begin({});
  std::optional<Session> moved(std::move(*session));
  session.reset();
  expect_refused(runtime->open(id));

  moved.reset();

  EXPECT_TRUE(runtime->open(id));
}

TEST_P(SecondObject, DoesNotMakeACallThatTheFirstIsMaking) {
  begin({slow_tool()});
  must(session->answer(asks_for({{"pay", "{}"}})));
  auto ran = std::async(std::launch::async, [&] { return session->run_calls(); });
  has_begun.get_future().wait();

  expect_refused(runtime->resume(id));

  may_return.set_value();
  must(ran.get());
  EXPECT_EQ(runs["pay"], 1);
  EXPECT_EQ(state_of(first_call()), CallState::succeeded);
}

TEST_P(SecondObject, WaitsForTheFirstIfAsked) {
  begin({});
  auto second = std::async(std::launch::async, [&] { return runtime->open(id, hours(1)); });
  must(session->append(user_says("first")));

  session.reset();

  EXPECT_EQ(must(second.get()).state().transcript.size(), 2U);
}

// Waiting for itself it would never end.
TEST_P(SecondObject, IsRefusedAtOnceFromAToolOfTheSession) {
  begin({tool("one")});
  std::optional<Result<Session>> opened;
  behaviour["one"] = [&](const CallContext&) -> ToolOutcome {
    opened.emplace(runtime->open(id, hours(1)));
    return Succeeded{.content = "done"};
  };
  must(session->answer(asks_for({{"one", "{}"}})));

  must(session->run_calls());

  expect_refused(opened.value());
  EXPECT_EQ(state_of(first_call()), CallState::succeeded);
}

TEST_P(SecondObject, IsRefusedAtOnceFromAToolAlsoUnderAnotherRuntime) {
  begin({tool("one")});
  const auto other = must(Runtime::start(*store, {.renews_itself = false, .clock = &clock}));
  std::optional<Result<Session>> opened;
  behaviour["one"] = [&](const CallContext&) -> ToolOutcome {
    opened.emplace(other->open(id, hours(1)));
    return Succeeded{.content = "done"};
  };
  must(session->answer(asks_for({{"one", "{}"}})));

  must(session->run_calls());

  ASSERT_FALSE(*opened);
  EXPECT_EQ(opened->error().code, ErrorCode::lease_held);
}

TEST_P(SecondObject, IsRefusedAtOnceFromPolicyAndVerify) {
  std::vector<Result<Session>> opened;
  const auto open = [&] { opened.push_back(runtime->open(id, hours(1))); };
  Policy policy;
  policy.refuse = [&](const State&, const ProposedCall&) -> std::optional<std::string> {
    open();
    return std::nullopt;
  };
  policy.needs_approval = [&](const Tool&, const Json&) {
    open();
    return false;
  };
  Tool one = tool("one");
  one.verify = [&](const VerifyContext&) -> Verdict {
    open();
    return Landed{"done"};
  };
  one.end_leftovers = [&](const LeftoverContext&) -> Result<void> {
    open();
    return {};
  };
  behaviour["one"] = [](const CallContext&) -> ToolOutcome { return Doubtful{"lost"}; };
  begin({one}, policy);
  must(session->answer(asks_for({{"one", "{}"}})));

  must(session->run_calls());

  EXPECT_GE(opened.size(), 4U);
  for (const auto& each : opened) expect_refused(each);
}

INSTANTIATE_TEST_SUITE_P(Every, SecondObject, testing::ValuesIn(every_backend()),
                         [](const auto& named) { return named.param.name; });

}  // namespace
}  // namespace perdure
