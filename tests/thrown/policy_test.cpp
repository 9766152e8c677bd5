// A policy or a tool that throws, in turns whose model is played by hand. The response that was paid
// for, its calls and their outcomes are in the log when another process takes the session up; what
// nobody allowed has not run.

#include <cstdint>
#include <fmt/format.h>
#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "contract/backends.hpp"
#include "dispatch/turns_fixture.hpp"
#include "doubles/must.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/json.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "runtime/api/read.hpp"
#include "runtime/api/session.hpp"
#include "thrown/throwing.hpp"

namespace perdure {
namespace {

using testing::HasSubstr;

/// The number of the question at which the policy throws, and at each after it.
struct Case {
  std::string name;
  int from = 1;
  std::vector<std::string> tools;  ///< That the response asks for.
  std::vector<int> ran;            ///< How often each has run when the turn ends with the error.
};

// A response is asked about as a whole when it is recorded, and each call again before it runs, unless
// it runs with its response.
std::vector<Case> cases() {
  return {
      {"AtTheFirstCall", 1, {"pay", "send"}, {0, 0}},
      {"AtTheSecondCall", 2, {"pay", "send"}, {1, 0}},
      {"AtTheDispatchOfTheSecond", 3, {"pay", "send"}, {1, 0}},
      {"OfAReadAmongReads", 2, {"look", "peek"}, {1, 0}},
      {"OfAReadBeforeAChange", 1, {"look", "pay"}, {0, 0}},
  };
}

class ThrowingPolicy : public TurnsTest {
 protected:
  std::vector<Tool> every_tool() {
    return {tool("pay"), tool("send"), tool("look", {.read = true}), tool("peek", {.read = true})};
  }

  Policy policy_of(const Case& one, Thrown what) {
    asked = 0;
    const auto ask = [this, one, what] {
      if (++asked >= one.from) throw_it(what);
    };
    Policy policy;
    policy.permit = [ask](const State&, const ProposedCall&) {
      ask();
      return PermitDecision::allow();
    };
    return policy;
  }

  [[nodiscard]] std::vector<int> runs_of(const Case& one) {
    std::vector<int> found;
    for (const std::string& name : one.tools) found.push_back(runs[name]);
    return found;
  }

  /// All that the log says.
  [[nodiscard]] std::string logged() {
    std::string all;
    must(read_line(*store, id, Point::head(), [&](Entry& entry) {
      all += entry.body.bytes();
      return Result<void>();
    }));
    return all;
  }

  int asked = 0;
};

TEST_P(ThrowingPolicy, LosesNoResponseAndLetsNothingRunThatNobodyAllowed) {
  for (const Case& one : cases()) {
    for (const Thrown what : all_thrown) {
      SCOPED_TRACE(fmt::format("{} {}", one.name, static_cast<int>(what)));
      runs.clear();
      begin(every_tool(), policy_of(one, what));
      const std::string name = "the policy's `permit`";
      std::vector<std::pair<std::string, std::string>> asks;
      for (const std::string& each : one.tools) asks.emplace_back(each, "{}");

      const ResponseExtras extras{.next_request = RequestSpec{.reserve_micros = 100}};
      const auto answered = session->record_response(asks_for(asks), {.cost_micros = 7}, extras);
      const auto ran = session->run_calls();

      ASSERT_TRUE(answered) << answered.error().message;
      ASSERT_FALSE(ran);
      EXPECT_EQ(ran.error().code, ErrorCode::unavailable);
      EXPECT_EQ(ran.error().message, threw(name, what));
      EXPECT_EQ(runs_of(one), one.ran);
      ASSERT_FALSE(session->run_calls()) << "it throws again";
      EXPECT_EQ(runs_of(one), one.ran) << "and nothing runs";

      restart();
      auto resumed = must(runtime->resume(id));

      EXPECT_EQ(runs_of(one), std::vector<int>(one.tools.size(), 1)) << "each call once";
      const State& state = resumed.session.state();
      EXPECT_EQ(state.transcript.size(), 2 + one.tools.size());
      EXPECT_EQ(state.budget.totals.spent, 7);
      EXPECT_EQ(state.budget.totals.unconfirmed, 0) << "what was written ahead was never sent";
      for (const Call& call : must(store->ledger().list({.session = id}))) {
        EXPECT_EQ(call.state, CallState::succeeded);
        EXPECT_EQ(call.attempts, 1);
      }
      EXPECT_TRUE(resumed.session.record_request({.reserve_micros = 1})) << "the turn goes on";
    }
  }
}

TEST_P(ThrowingPolicy, GoesOnInTheSameProcessOnceItDoesNotThrow) {
  bool throws = true;
  Policy policy;
  policy.permit = [&](const State&, const ProposedCall&) {
    if (throws) throw_it(Thrown::number);
    return PermitDecision::allow();
  };
  begin(every_tool(), std::move(policy));
  must(session->record_response(asks_for({{"pay", "{}"}})));
  ASSERT_FALSE(session->run_calls());

  throws = false;

  EXPECT_EQ(must(session->run_calls()).run, 1U);
  EXPECT_EQ(state_of(first_call()), CallState::succeeded);
}

TEST_P(ThrowingPolicy, ThatThenRefusesIsHeeded) {
  Policy throwing;
  throwing.permit = [](const State&, const ProposedCall&) -> PermitDecision {
    throw_it(Thrown::exception);
  };
  begin(every_tool(), std::move(throwing));
  must(session->record_response(asks_for({{"pay", "{}"}})));
  ASSERT_FALSE(session->run_calls());
  Policy refusing;
  refusing.permit = [](const State&, const ProposedCall&) { return PermitDecision::deny("No."); };

  restart(std::move(refusing));
  must(runtime->resume(id));

  EXPECT_EQ(runs["pay"], 0);
  EXPECT_EQ(state_of(first_call()), CallState::denied);
}

TEST_P(ThrowingPolicy, IsPlannedAsAQuestion) {
  Policy throwing;
  throwing.permit = [](const State&, const ProposedCall&) -> PermitDecision {
    throw_it(Thrown::number);
  };
  begin(every_tool(), throwing);
  must(session->record_response(asks_for({{"pay", "{}"}})));
  const Tools known = must(Tools::of(tools));

  const SessionSummary row = must(store->sessions().read(id));
  const RecoveryPlan plan = must(plan_recovery(
      *store, row, session->state(), {.tools = &known, .policy = throwing, .now = clock.now()}));

  ASSERT_EQ(plan.calls.size(), 1U);
  EXPECT_EQ(plan.calls.front().action, CallAction::ask);
}

/// A tool whose functions throw: what becomes of the call, and what is recorded of it.
struct ToolCase {
  std::string name;
  SideEffects effects;
  bool honours_key = false;
  CallState state = CallState::in_doubt;
};

TEST_P(ThrowingPolicy, AToolThatThrowsIsNamedAndItsCallRecorded) {
  const std::vector<ToolCase> all = {
      {"AnUnsafeOne", {.mutate = true}, false, CallState::in_doubt},
      {"OneThatHonoursItsKey", {.mutate = true}, true, CallState::in_doubt},
      {"OneThatOnlyReads", {.read = true}, false, CallState::failed},
  };
  for (const ToolCase& one : all) {
    for (const Thrown what : all_thrown) {
      SCOPED_TRACE(fmt::format("{} {}", one.name, static_cast<int>(what)));
      Tool made = tool("one", one.effects);
      made.honours_key = one.honours_key;
      behaviour["one"] = [what](const CallContext&) -> ToolOutcome { throw_it(what); };
      begin({made});
      must(session->record_response(asks_for({{"one", "{}"}}), {.cost_micros = 7}));

      must(session->run_calls());

      EXPECT_EQ(state_of(first_call()), one.state);
      restart();
      session = must(runtime->open(id));
      EXPECT_EQ(session->state().budget.totals.spent, 7);
      EXPECT_EQ(state_of(first_call()), one.state);
      EXPECT_THAT(logged(), HasSubstr(threw("the tool's `run`", what)));
    }
  }
}

TEST_P(ThrowingPolicy, AVerifyThatThrowsCannotTell) {
  for (const Thrown what : all_thrown) {
    Tool made = tool("one");
    made.verify = [what](const VerifyContext&) -> Verdict { throw_it(what); };
    behaviour["one"] = [](const CallContext&) { return Doubtful{"line cut"}; };
    begin({made});
    must(session->record_response(asks_for({{"one", "{}"}})));

    const CallsReport report = must(session->run_calls());

    ASSERT_TRUE(report.waiting);
    EXPECT_THAT(report.waiting->why, HasSubstr(threw("the tool's `verify`", what)));
    EXPECT_EQ(runs["one"], 1);
    runs.clear();
  }
}

TEST_P(ThrowingPolicy, AnAnswerThatThrowsIsAnError) {
  for (const Thrown what : all_thrown) {
    Tool made{.name = "one"};
    made.answer = answered_by(
        [what](const State&, Position, const Json&) -> SessionAnswer { throw_it(what); });
    begin({made});
    must(session->record_response(asks_for({{"one", "{}"}})));

    must(session->run_calls());

    EXPECT_EQ(result_of(2), "This could not be answered: " + threw("the tool's `answer`", what));
  }
}

INSTANTIATE_TEST_SUITE_P(Every, ThrowingPolicy, testing::ValuesIn(every_backend()),
                         [](const auto& named) { return named.param.name; });

}  // namespace
}  // namespace perdure
