// What is foreseen of a call that was left is what a resume then does, kind by kind.

#include "perdure/runtime/foresight.hpp"

#include <chrono>
#include <gtest/gtest.h>
#include <optional>
#include <string>
#include <utility>

#include "contract/backends.hpp"
#include "dispatch/turns_fixture.hpp"
#include "doubles/must.hpp"
#include "perdure/runtime/calls.hpp"
#include "perdure/runtime/policy.hpp"
#include "perdure/runtime/read.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/tool.hpp"

namespace perdure {
namespace {

using std::chrono::hours;

class ForesightTest : public TurnsTest {
 protected:
  // A call of `with` is dispatched with the response that asks for it; then the process is gone.
  void leave(const Tool& with) {
    begin({with});
    must(session->answer(asks_for({{with.name, "{}"}})));
    restart();
  }

  Prospect foresee(const Policy& policy = {}) {
    const Tools known = must(Tools::of(tools));
    const State state = must(read_state(*store, id, Point::head()));
    return Foresight(known, policy, clock.now()).of(state, must(store->ledger().read(id, call())));
  }

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

TEST_P(ForesightTest, AReadRunsAgain) {
  leave(tool("look", {.read = true}));
  EXPECT_EQ(foresee(), Prospect::run_again);
  resume();
  EXPECT_EQ(runs["look"], 1);
}

TEST_P(ForesightTest, AKeyedCallRunsAgainWithinItsWindow) {
  leave(keyed());
  clock.advance(hours(23));
  EXPECT_EQ(foresee(), Prospect::run_again);
  resume();
  EXPECT_EQ(runs["pay"], 1);
}

TEST_P(ForesightTest, AKeyedCallIsAskedAboutPastItsWindow) {
  leave(keyed());
  clock.advance(hours(25));
  EXPECT_EQ(foresee(), Prospect::ask);
  EXPECT_TRUE(resume().waiting);
  EXPECT_EQ(runs["pay"], 0);
}

TEST_P(ForesightTest, AVerifiableCallIsVerified) {
  Tool made = tool("pay");
  made.verify = [](const VerifyContext&) -> Verdict { return Landed{.content = "paid"}; };
  leave(made);
  EXPECT_EQ(foresee(), Prospect::verify);
  EXPECT_EQ(resume().verified, 1U);
}

TEST_P(ForesightTest, AnUnsafeCallIsAskedAbout) {
  leave(tool("pay"));
  EXPECT_EQ(foresee(), Prospect::ask);
  EXPECT_TRUE(resume().waiting);
}

TEST_P(ForesightTest, TheModelIsToldWhereThePolicySaysSo) {
  leave(tool("pay"));
  EXPECT_EQ(foresee({.on_doubt = OnDoubt::tell_model}), Prospect::tell_model);
  EXPECT_FALSE(resume({.on_doubt = OnDoubt::tell_model}).waiting);
  EXPECT_EQ(runs["pay"], 0);
  EXPECT_EQ(foresee({.on_doubt = OnDoubt::tell_model}), Prospect::tell_model)
      << "it was told before";
}

TEST_P(ForesightTest, ACallAtItsLimitIsAskedAboutWhateverThePolicy) {
  Tool made = keyed();
  made.attempts_max = 1;
  leave(made);
  EXPECT_EQ(foresee({.on_doubt = OnDoubt::tell_model}), Prospect::ask);
  EXPECT_TRUE(resume({.on_doubt = OnDoubt::tell_model}).waiting);
}

TEST_P(ForesightTest, AReadAtItsLimitIsGivenUp) {
  Tool made = tool("look", {.read = true});
  made.attempts_max = 1;
  leave(made);
  EXPECT_EQ(foresee(), Prospect::refuse);
  EXPECT_FALSE(resume().waiting);
  EXPECT_EQ(state_of(call()), CallState::failed);
}

TEST_P(ForesightTest, SomebodysDecisionToRunItOnceMoreCounts) {
  leave(tool("pay"));
  EXPECT_TRUE(resume().waiting);
  must(session->resolve(call(), {.as = Decision::As::retry, .who = "ana", .why = "seen"}));
  EXPECT_EQ(foresee(), Prospect::run_again);
  resume();
  EXPECT_EQ(runs["pay"], 1);
}

TEST_P(ForesightTest, AToolThatIsGoneIsAskedAbout) {
  leave(keyed());
  tools = {tool("other")};
  EXPECT_EQ(foresee(), Prospect::ask);
  EXPECT_TRUE(resume().waiting);
}

TEST_P(ForesightTest, AReadWhoseToolIsGoneIsGivenUp) {
  leave(tool("look", {.read = true}));
  tools = {tool("other")};
  EXPECT_EQ(foresee(), Prospect::refuse);
  EXPECT_FALSE(resume().waiting);
  EXPECT_TRUE(session->ask());
}

TEST_P(ForesightTest, AnIntendedCallRunsUnlessSomebodyHasToAllowIt) {
  const Policy asks{.needs_approval = [](const Tool&, const Json&) { return true; }};
  begin({tool("pay")}, asks);
  must(session->answer(asks_for({{"pay", "{}"}})));
  EXPECT_EQ(foresee(), Prospect::run);
  EXPECT_EQ(foresee(asks), Prospect::ask) << "also before anybody was asked";
  must(session->run_calls());
  EXPECT_EQ(foresee(asks), Prospect::ask);
  EXPECT_TRUE(resume(asks).waiting);
  tools = {tool("other")};
  EXPECT_EQ(foresee(asks), Prospect::refuse);
  EXPECT_EQ(resume(asks).refused, 1U);
}

TEST_P(ForesightTest, WhatSomebodyAllowedRunsAndWhatNobodyAllowsDoesNot) {
  const Policy asks{.needs_approval = [](const Tool&, const Json&) { return true; }};
  for (const bool is_allowed : {true, false}) {
    runs.clear();
    begin({tool("pay")}, asks);
    must(session->answer(asks_for({{"pay", "{}"}})));
    must(session->run_calls());
    must(session->approve(call(), is_allowed, "ana", "seen"));
    EXPECT_EQ(foresee(asks), is_allowed ? Prospect::run : Prospect::refuse);
    resume(asks);
    EXPECT_EQ(runs["pay"], is_allowed ? 1 : 0);
  }
}

TEST_P(ForesightTest, WhatIsForbiddenSinceItWasAskedForIsRefused) {
  begin({tool("pay")}, {.needs_approval = [](const Tool&, const Json&) { return true; }});
  must(session->answer(asks_for({{"pay", "{}"}})));
  const Policy forbids{.refuse = [](const State&, const ProposedCall&) {
    return std::optional<std::string>("not today");
  }};
  EXPECT_EQ(foresee(forbids), Prospect::refuse);
  EXPECT_EQ(resume(forbids).refused, 1U);
}

INSTANTIATE_TEST_SUITE_P(Every, ForesightTest, testing::ValuesIn(every_backend()),
                         [](const auto& named) { return named.param.name; });

}  // namespace
}  // namespace perdure
