// The table of decide.hpp: one test a row, and the orders that matter between rows.

#include "dispatch/decide.hpp"

#include <chrono>
#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <variant>

#include "perdure/core/json.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"
#include "runtime/api/session.hpp"

namespace perdure::dispatch {
namespace {

using std::chrono::hours;
using std::chrono::minutes;

const Timestamp noon = std::chrono::sys_days{std::chrono::year{2026} / 11 / 15};

Tool payment() {
  Tool tool;
  tool.name = "pay";
  tool.side_effects = SideEffects{.network = true, .mutate = true};
  tool.in_flight_max = minutes(2);
  tool.timeout = minutes(1);
  tool.run = [](const CallContext&) -> ToolOutcome { return Succeeded{}; };
  return tool;
}

Tool verifiable() {
  Tool tool = payment();
  tool.verify = [](const VerifyContext&) -> Verdict { return NotLanded{}; };
  return tool;
}

Tool keyed() {
  Tool tool = payment();
  tool.honours_key = true;
  tool.key_window = hours(24);
  return tool;
}

// In doubt after one attempt, at noon, by a process that is dead.
CallFacts doubted(EffectClass effect) {
  return {.call = {.open = {.first_attempt = noon},
                   .row = {.effect = effect, .state = CallState::in_doubt, .attempts = 1},
                   .args = std::make_shared<const Json>(Json::Object{})},
          .maker = Maker::gone,
          .sent_before = noon};
}

bool is(CallAction wanted, const Decision& decision) { return decision.action == wanted; }

// `tool` is null if the session has it no longer.
Decision decide_by(CallFacts facts, const Tool* tool, OnDoubt on_doubt, Timestamp now = noon) {
  facts.call.tool = tool;
  facts.on_doubt = on_doubt;
  facts.now = now;
  return decide(facts);
}

Decision ask(const CallFacts& facts, const Tool& tool, Timestamp now = noon) {
  return decide_by(facts, &tool, OnDoubt::ask, now);
}

// The verify was asked and answered at that moment.
Decision ask_verified(CallFacts call, const Tool& tool, Timestamp now) {
  call.verify_began = now;
  return ask(call, tool, now);
}

TEST(Decide, AnIntendedCallRuns) {
  CallFacts call = doubted(EffectClass::unsafe);
  call.call.row.state = CallState::intended;
  EXPECT_TRUE(is(CallAction::run, ask(call, payment())));
}

TEST(Decide, NothingStartsWhileAnAttemptRuns) {
  auto call = doubted(EffectClass::idempotent);
  call.maker = Maker::running;
  EXPECT_TRUE(is(CallAction::wait, ask(call, keyed())));
}

TEST(Decide, AToolThatIsGoneIsAskedAbout) {
  EXPECT_TRUE(is(CallAction::ask,
                 decide_by(doubted(EffectClass::idempotent), nullptr, OnDoubt::tell_model, noon)));
}

TEST(Decide, AReadRunsAgain) {
  Tool tool = payment();
  tool.side_effects = SideEffects{.read = true, .network = true};
  EXPECT_TRUE(is(CallAction::run_again, ask(doubted(EffectClass::read_only), tool)));
}

TEST(Decide, AReadThatCannotBeMadeIsGivenUpAndAskedAboutByNobody) {
  Tool tool = payment();
  tool.side_effects = SideEffects{.read = true, .network = true};
  auto spent = doubted(EffectClass::read_only);
  spent.call.row.attempts = 3;
  auto left = doubted(EffectClass::read_only);
  left.left = "process 7";
  auto stubborn = doubted(EffectClass::read_only);
  stubborn.maker = Maker::running;
  for (const auto on_doubt : {OnDoubt::ask, OnDoubt::tell_model}) {
    for (const auto& call : {spent, left, stubborn}) {
      EXPECT_TRUE(is(CallAction::give_up, decide_by(call, &tool, on_doubt, noon)));
    }
    EXPECT_TRUE(is(CallAction::give_up,
                   decide_by(doubted(EffectClass::read_only), nullptr, on_doubt, noon)));
  }
}

TEST(Decide, AReadIsNotRunAgainByAToolThatNoLongerOnlyReads) {
  EXPECT_TRUE(is(CallAction::give_up, ask(doubted(EffectClass::read_only), payment())));
}

TEST(Decide, OnlyAVerifyRulesEarlierAttemptsOut) {
  auto verified = doubted(EffectClass::verifiable);
  verified.verdict = NotLanded{};
  EXPECT_TRUE(ask_verified(verified, verifiable(), noon + hours(1)).none_landed);
  EXPECT_FALSE(ask(doubted(EffectClass::idempotent), keyed()).none_landed);
}

TEST(Decide, WhatItsSessionAnswersRunsAgain) {
  Tool tool{.name = "plan"};
  tool.answer = answered_by([](const State&, Position, const Json&) { return SessionAnswer{}; });
  EXPECT_TRUE(is(CallAction::run_again, ask(doubted(EffectClass::idempotent), tool)));
  EXPECT_TRUE(is(CallAction::ask, ask(doubted(EffectClass::unsafe), tool)));
}

TEST(Decide, AKeyedCallRunsAgainWithinItsWindow) {
  EXPECT_TRUE(
      is(CallAction::run_again, ask(doubted(EffectClass::idempotent), keyed(), noon + hours(23))));
}

TEST(Decide, AKeyedCallMustArriveWithinItsWindow) {
  const auto late = noon + hours(24) - minutes(1);
  EXPECT_TRUE(is(CallAction::run_again,
                 ask(doubted(EffectClass::idempotent), keyed(), late - Duration(1))));
  EXPECT_TRUE(is(CallAction::ask, ask(doubted(EffectClass::idempotent), keyed(), late)));
}

TEST(Decide, AClockThatWentBackKnowsNoWindow) {
  EXPECT_TRUE(
      is(CallAction::run_again, ask(doubted(EffectClass::idempotent), keyed(), noon - minutes(1))));
  EXPECT_TRUE(
      is(CallAction::ask, ask(doubted(EffectClass::idempotent), keyed(), noon - minutes(2))));
}

TEST(Decide, AKeyThatIsNeverForgottenHasNoWindow) {
  Tool tool = keyed();
  tool.key_window.reset();
  EXPECT_TRUE(
      is(CallAction::run_again, ask(doubted(EffectClass::idempotent), tool, noon + hours(10'000))));
}

TEST(Decide, PastItsWindowAKeyedCallIsVerified) {
  Tool tool = keyed();
  tool.verify = verifiable().verify;
  EXPECT_TRUE(
      is(CallAction::verify, ask(doubted(EffectClass::idempotent), tool, noon + hours(25))));
}

TEST(Decide, AToolThatNoLongerHonoursKeysIsNotTrustedWithOne) {
  EXPECT_TRUE(is(CallAction::ask, ask(doubted(EffectClass::idempotent), payment())));
}

TEST(Decide, AVerifiableCallIsVerifiedFirst) {
  EXPECT_TRUE(is(CallAction::verify, ask(doubted(EffectClass::verifiable), verifiable())));
}

TEST(Decide, WhatLandedIsSettled) {
  auto call = doubted(EffectClass::verifiable);
  call.verdict = Landed{.content = "receipt 7"};
  EXPECT_TRUE(is(CallAction::settle, ask(call, verifiable())));
}

TEST(Decide, NotLandedCountsWhenTheRequestCanNoLongerArrive) {
  auto call = doubted(EffectClass::verifiable);
  call.verdict = NotLanded{};
  const auto decision = ask(call, verifiable(), noon + minutes(2) - Duration(1));
  ASSERT_TRUE(is(CallAction::wait, decision));
  EXPECT_EQ(decision.until, noon + minutes(2));
  EXPECT_TRUE(is(CallAction::run_again, ask_verified(call, verifiable(), noon + minutes(2))));
}

TEST(Decide, NotLandedCountsOnlyIfItWasAskedWhenTheRequestCouldNoLongerArrive) {
  auto call = doubted(EffectClass::verifiable);
  call.verdict = NotLanded{};
  call.verify_began = noon + minutes(2) - Duration(1);
  EXPECT_TRUE(is(CallAction::verify, ask(call, verifiable(), noon + hours(1))));
}

TEST(Decide, ALocalCallCanStillLandWhileItsProcessMayLive) {
  Tool tool = verifiable();
  tool.side_effects = SideEffects{.write = true};
  auto call = doubted(EffectClass::verifiable);
  call.verdict = NotLanded{};
  EXPECT_TRUE(is(CallAction::run_again, ask(call, tool)));
  call.maker = Maker::unknown;
  EXPECT_TRUE(is(CallAction::wait, ask(call, tool, noon + hours(1000))));
}

TEST(Decide, WhatVerifyCannotTellIsUpToThePolicy) {
  auto call = doubted(EffectClass::verifiable);
  call.verdict = CannotTell{.why = "two of them"};
  const Tool tool = verifiable();
  EXPECT_TRUE(is(CallAction::ask, decide_by(call, &tool, OnDoubt::ask, noon)));
  EXPECT_TRUE(is(CallAction::tell_model, decide_by(call, &tool, OnDoubt::tell_model, noon)));
}

TEST(Decide, AnUnsafeCallIsNeverRunAgain) {
  const Tool tool = payment();
  for (const auto now : {noon, noon + hours(1000)}) {
    EXPECT_TRUE(
        is(CallAction::ask, decide_by(doubted(EffectClass::unsafe), &tool, OnDoubt::ask, now)));
    EXPECT_TRUE(is(CallAction::tell_model,
                   decide_by(doubted(EffectClass::unsafe), &tool, OnDoubt::tell_model, now)));
  }
}

// What the ledger says was true when the call was intended; a tool that has a verify since
// may not have recorded what it looks for.
TEST(Decide, TheClassOfTheIntentCounts) {
  EXPECT_TRUE(is(CallAction::ask, ask(doubted(EffectClass::unsafe), verifiable())));
}

TEST(Decide, AttemptsAreLimitedAndTheLastIsQuotedOnce) {
  auto call = doubted(EffectClass::idempotent);
  call.call.row.attempts = 3;
  call.call.open.doubt = "line cut";
  const auto decision = ask(call, keyed());
  ASSERT_TRUE(is(CallAction::ask, decision));
  call.call.open.doubt = decision.why;
  EXPECT_EQ(call.call.open.doubt, "3 attempts, and none is known to have worked; line cut");
  EXPECT_EQ(ask(call, keyed()).why, call.call.open.doubt);
}

TEST(Decide, AtTheLimitACallIsStillVerified) {
  auto call = doubted(EffectClass::verifiable);
  call.call.row.attempts = 3;
  EXPECT_TRUE(is(CallAction::verify, ask(call, verifiable())));
  call.verdict = NotLanded{};
  EXPECT_TRUE(is(CallAction::ask, ask(call, verifiable(), noon + hours(1))));
  call.verdict = Landed{};
  EXPECT_TRUE(is(CallAction::settle, ask(call, verifiable())));
}

}  // namespace
}  // namespace perdure::dispatch
