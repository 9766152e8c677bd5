// What a plan says about a call that was left is what a resume then does, kind by kind.

#include <chrono>
#include <gtest/gtest.h>
#include <optional>
#include <string>
#include <utility>

#include "contract/backends.hpp"
#include "dispatch/turns_fixture.hpp"
#include "doubles/must.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/sessions.hpp"
#include "runtime/api/session.hpp"
#include "runtime/api/state_details.hpp"

namespace perdure {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

class RecoveryPlanTest : public TurnsTest {
 protected:
  // A call of `with` is dispatched with the response that asks for it; then the process is gone.
  void leave(const Tool& with) {
    begin({with});
    must(session->record_response(asks_for({{with.name, "{}"}})));
    restart();
  }

  PlannedCall planned(const Policy& policy = {}) {
    const Tools known = must(Tools::of(tools));
    const State state = must(read_state(*store, id, Point::head()));
    const RecoveryPlan plan =
        must(plan_recovery(*store, must(store->sessions().read(id)), state,
                           {.tools = &known, .policy = policy, .now = clock.now()}));
    EXPECT_EQ(plan.calls.size(), 1U);
    EXPECT_FALSE(plan.calls.front().action == CallAction::ask && plan.calls.front().why.empty());
    return plan.calls.front();
  }
  CallAction plan(const Policy& policy = {}) { return planned(policy).action; }

  CallsReport resume(Policy policy = {}) {
    restart(std::move(policy));
    auto resumed = must(runtime->resume(id));
    session = std::move(resumed.session);
    return resumed.report.calls;
  }

  Position call() { return first_call(); }

  Tool keyed() {
    Tool made = tool("pay", {.network = true, .mutate = true});
    made.honours_key = true;
    made.key_window = hours(24);
    return made;
  }
};

TEST_P(RecoveryPlanTest, AReadRunsAgain) {
  leave(tool("look", {.read = true}));
  EXPECT_EQ(plan(), CallAction::run_again);
  resume();
  EXPECT_EQ(runs["look"], 1);
}

// An imported intent may name a tool or arguments that its response did not ask for. A policy that is
// asked about the response would judge another call than the one that is made.
TEST_P(RecoveryPlanTest, ACallThatItsResponseDidNotAskForIsNotAllowed) {
  leave(tool("look", {.read = true}));
  const Tools known = must(Tools::of(tools));
  const auto row = must(store->sessions().read(id));
  for (const auto& forge : {+[](OpenCall& open) { open.args = R"({"path":"/etc"})"; },
                            +[](OpenCall& open) { open.tool = "shell"; }}) {
    State state = must(read_state(*store, id, Point::head()));
    forge(state.details->open_calls.at(call()));

    const RecoveryPlan plan = must(
        plan_recovery(*store, row, state, {.tools = &known, .policy = {}, .now = clock.now()}));

    ASSERT_EQ(plan.calls.size(), 1U);
    EXPECT_NE(plan.calls.front().action, CallAction::run_again);
    EXPECT_NE(plan.calls.front().action, CallAction::run);
  }
}

TEST_P(RecoveryPlanTest, AKeyedCallRunsAgainWithinItsWindow) {
  leave(keyed());
  clock.advance(hours(23));
  EXPECT_EQ(plan(), CallAction::run_again);
  resume();
  EXPECT_EQ(runs["pay"], 1);
}

TEST_P(RecoveryPlanTest, AKeyedCallIsAskedAboutPastItsWindow) {
  leave(keyed());
  clock.advance(hours(25));
  EXPECT_EQ(plan(), CallAction::ask);
  EXPECT_TRUE(resume().waiting);
  EXPECT_EQ(runs["pay"], 0);
}

// A policy may take its time, whichever time it is asked. The key must still be known when the
// attempt, whose timeout is a minute, arrives.
TEST_P(RecoveryPlanTest, AKeyedCallIsAskedAboutIfItsWindowEndsWhileThePolicyIsAsked) {
  for (int slow = 1; slow <= 3; ++slow) {
    runs.clear();
    leave(keyed());
    clock.advance(hours(24) - seconds(70));
    int asked = 0;
    const Policy policy{.permit = [&](const State&, const ProposedCall&) {
      if (++asked == slow) clock.advance(seconds(20));
      return PermitDecision::allow();
    }};

    const CallsReport report = resume(policy);

    const bool is_late = asked >= slow;
    EXPECT_EQ(report.waiting.has_value(), is_late) << slow;
    EXPECT_EQ(runs["pay"], is_late ? 0 : 1) << slow;
  }
}

TEST_P(RecoveryPlanTest, AVerifiableCallIsVerified) {
  Tool made = tool("pay");
  made.verify = [](const VerifyContext&) -> Verdict { return Landed{.content = "paid"}; };
  leave(made);
  EXPECT_EQ(plan(), CallAction::verify);
  EXPECT_EQ(resume().verified, 1U);
}

TEST_P(RecoveryPlanTest, AnUnsafeCallIsAskedAbout) {
  leave(tool("pay"));
  EXPECT_EQ(plan(), CallAction::ask);
  EXPECT_TRUE(resume().waiting);
}

TEST_P(RecoveryPlanTest, TheModelIsToldWhereThePolicySaysSo) {
  leave(tool("pay"));
  EXPECT_EQ(plan({.on_doubt = OnDoubt::tell_model}), CallAction::tell_model);
  EXPECT_FALSE(resume({.on_doubt = OnDoubt::tell_model}).waiting);
  EXPECT_EQ(runs["pay"], 0);
  EXPECT_EQ(plan({.on_doubt = OnDoubt::tell_model}), CallAction::tell_model)
      << "it was told before";
}

TEST_P(RecoveryPlanTest, ACallAtItsLimitIsAskedAboutWhateverThePolicy) {
  Tool made = keyed();
  made.attempts_max = 1;
  leave(made);
  EXPECT_EQ(plan({.on_doubt = OnDoubt::tell_model}), CallAction::ask);
  EXPECT_TRUE(resume({.on_doubt = OnDoubt::tell_model}).waiting);
}

TEST_P(RecoveryPlanTest, AReadAtItsLimitIsGivenUp) {
  Tool made = tool("look", {.read = true});
  made.attempts_max = 1;
  leave(made);
  EXPECT_EQ(plan(), CallAction::give_up);
  EXPECT_FALSE(resume().waiting);
  EXPECT_EQ(state_of(call()), CallState::failed);
}

// The ledger has the call, whatever became of the log.
TEST_P(RecoveryPlanTest, ACallWhoseIntentCannotBeReadIsInThePlanThoughNothingElseIsOpen) {
  leave(tool("pay"));
  const Tools known = must(Tools::of(tools));
  State state = must(read_state(*store, id, Point::head()));
  state.details->open_calls.clear();
  state.details->skipped.push_back(
      {.position = call(), .channel = "calls", .reason = SkipReason::damaged});

  const RecoveryPlan plan =
      must(plan_recovery(*store, must(store->sessions().read(id)), state,
                         {.tools = &known, .policy = {}, .now = clock.now()}));

  ASSERT_EQ(plan.calls.size(), 1U);
  EXPECT_EQ(plan.calls.front().call.position, call());
  EXPECT_EQ(plan.calls.front().action, CallAction::ask);
}

TEST_P(RecoveryPlanTest, SomebodysDecisionToRunItOnceMoreCounts) {
  leave(tool("pay"));
  EXPECT_TRUE(resume().waiting);
  must(session->resolve(call(), {.as = Decision::As::retry, .who = "ana", .why = "seen"}));
  EXPECT_EQ(plan(), CallAction::run_again);
  resume();
  EXPECT_EQ(runs["pay"], 1);
}

TEST_P(RecoveryPlanTest, AToolThatIsGoneIsAskedAbout) {
  leave(keyed());
  tools = {tool("other")};
  EXPECT_EQ(plan(), CallAction::ask);
  EXPECT_TRUE(resume().waiting);
}

TEST_P(RecoveryPlanTest, AReadWhoseToolIsGoneIsGivenUp) {
  leave(tool("look", {.read = true}));
  tools = {tool("other")};
  EXPECT_EQ(plan(), CallAction::give_up);
  EXPECT_FALSE(resume().waiting);
  EXPECT_TRUE(session->record_request());
}

TEST_P(RecoveryPlanTest, AnIntendedCallRunsUnlessSomebodyHasToAllowIt) {
  const Policy asks{.permit = [](const State&, const ProposedCall&) {
    return PermitDecision::ask("it is a rule");
  }};
  begin({tool("pay")}, asks);
  must(session->record_response(asks_for({{"pay", "{}"}})));
  EXPECT_EQ(plan(), CallAction::ask_approval) << "what the intent records is not widened";
  EXPECT_EQ(plan(asks), CallAction::ask_approval) << "also before anybody was asked";
  must(session->run_calls());
  EXPECT_EQ(plan(asks), CallAction::ask_approval);
  EXPECT_TRUE(resume(asks).waiting);
  tools = {tool("other")};
  EXPECT_EQ(plan(asks), CallAction::refuse);
  EXPECT_EQ(resume(asks).refused, 1U);
}

TEST_P(RecoveryPlanTest, WhatSomebodyAllowedRunsAndWhatNobodyAllowsDoesNot) {
  const Policy asks{.permit = [](const State&, const ProposedCall&) {
    return PermitDecision::ask("it is a rule");
  }};
  for (const bool is_allowed : {true, false}) {
    runs.clear();
    begin({tool("pay")}, asks);
    must(session->record_response(asks_for({{"pay", "{}"}})));
    must(session->run_calls());
    must(session->approve(call(), is_allowed, "ana", "seen"));
    EXPECT_EQ(plan(asks), is_allowed ? CallAction::run : CallAction::refuse);
    resume(asks);
    EXPECT_EQ(runs["pay"], is_allowed ? 1 : 0);
  }
}

TEST_P(RecoveryPlanTest, WhatIsForbiddenSinceItWasAskedForIsRefused) {
  begin({tool("pay")}, {.permit = [](const State&, const ProposedCall&) {
          return PermitDecision::ask("it is a rule");
        }});
  must(session->record_response(asks_for({{"pay", "{}"}})));
  const Policy forbids{.permit = [](const State&, const ProposedCall&) {
    return PermitDecision::deny("not today");
  }};
  EXPECT_EQ(plan(forbids), CallAction::refuse);
  EXPECT_EQ(resume(forbids).refused, 1U);
}

// What would run again is checked once more, and a plan knows it before.
TEST_P(RecoveryPlanTest, AFurtherAttemptIsCheckedLikeTheFirst) {
  const Policy asks{.permit = [](const State&, const ProposedCall&) {
    return PermitDecision::ask("it is a rule");
  }};
  const Policy denies{.permit = [](const State&, const ProposedCall&) {
    return PermitDecision::deny("not today");
  }};
  for (const Policy& policy : {asks, denies}) {
    runs.clear();
    leave(keyed());
    EXPECT_EQ(plan(), CallAction::run_again);
    EXPECT_EQ(plan(policy), CallAction::ask);
    const std::string why = planned(policy).why;

    const CallsReport report = resume(policy);

    ASSERT_TRUE(report.waiting);
    EXPECT_EQ(report.waiting->why, why);
    EXPECT_EQ(runs["pay"], 0);
  }
}

TEST_P(RecoveryPlanTest, AReadThatIsForbiddenSinceIsGivenUp) {
  const Policy denies{.permit = [](const State&, const ProposedCall&) {
    return PermitDecision::deny("not today");
  }};
  leave(tool("look", {.read = true}));
  EXPECT_EQ(plan(), CallAction::run_again);
  EXPECT_EQ(plan(denies), CallAction::give_up);
  EXPECT_FALSE(resume(denies).waiting);
  EXPECT_EQ(runs["look"], 0);
  EXPECT_EQ(state_of(call()), CallState::failed);
}

// The report of a resume has the plan that it went by.
TEST_P(RecoveryPlanTest, IsInTheReportOfTheResume) {
  leave(keyed());
  const PlannedCall before = planned();

  restart();
  const auto resumed = must(runtime->resume(id));

  ASSERT_EQ(plan_of(resumed.report).calls.size(), 1U);
  EXPECT_EQ(plan_of(resumed.report).calls.front().action, before.action);
  EXPECT_EQ(resumed.report.calls.retried, 1U);
}

INSTANTIATE_TEST_SUITE_P(Every, RecoveryPlanTest, testing::ValuesIn(every_backend()),
                         [](const auto& named) { return named.param.name; });

}  // namespace
}  // namespace perdure
