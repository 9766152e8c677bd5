// When a session names its head by itself. What is synced is counted in tests/counted.

#include <chrono>
#include <gtest/gtest.h>
#include <string>
#include <utility>
#include <vector>

#include "contract/backends.hpp"
#include "dispatch/turns_fixture.hpp"
#include "doubles/must.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/store.hpp"

namespace perdure {
namespace {

using std::chrono::seconds;

class CadenceTest : public TurnsTest {
 protected:
  void start(Cadence cadence) {
    policy.cadence = cadence;
    begin({tool("one")}, policy);
    end_turn();
  }
  void end_turn() {
    must(
        session->record_response({.role = Role::assistant, .blocks = {TextBlock{.text = "done"}}}));
  }
  void take_turn() {
    must(session->record_request({}, user_says("more")));
    end_turn();
  }
  void make_call() {
    must(session->record_response(asks_for({{"one", "{}"}})));
    must(session->run_calls());
    must(session->record_request());
  }
  void die_and_resume() {
    restart(policy);
    session = must(runtime->resume(id)).session;
  }
  /// Oldest first.
  std::vector<std::string> reasons() {
    std::vector<std::string> said;
    for (const Checkpoint& each : must(session->versions())) said.push_back(each.reason);
    return {said.rbegin(), said.rend()};
  }
  using Reasons = std::vector<std::string>;

  Policy policy;
};

TEST_P(CadenceTest, TurnNamesTheEndOfEveryTurn) {
  start({.at = Cadence::At::turn});
  must(session->record_request({}, user_says("more")));
  make_call();
  EXPECT_EQ(reasons(), Reasons{"turn"});
  end_turn();
  EXPECT_EQ(reasons(), (Reasons{"turn", "turn"}));
  const auto last = must(session->versions()).front();
  EXPECT_EQ(last.position, session->state().head);
  EXPECT_EQ(last.tally.turns, 2);
}

TEST_P(CadenceTest, CallNamesEveryCallAsWell) {
  start({.at = Cadence::At::call});
  must(session->record_request({}, user_says("more")));
  make_call();
  make_call();
  EXPECT_EQ(reasons(), (Reasons{"turn", "call", "call"}));
  end_turn();
  EXPECT_EQ(reasons(), (Reasons{"turn", "call", "call", "turn"}));
}

TEST_P(CadenceTest, PeriodNamesEveryNthTurn) {
  start({.at = Cadence::At::period, .turns = 3});
  take_turn();
  EXPECT_EQ(reasons(), Reasons{});
  take_turn();
  EXPECT_EQ(reasons(), Reasons{"turn"});
  for (int turn = 4; turn <= 8; ++turn) take_turn();
  EXPECT_EQ(reasons(), (Reasons{"turn", "turn"}));
}

TEST_P(CadenceTest, PeriodNamesTheTurnAfterItsTimeHasPassed) {
  start({.at = Cadence::At::period, .turns = 100, .time = seconds(60)});
  clock.advance(seconds(15));
  take_turn();
  clock.advance(seconds(44));
  take_turn();
  EXPECT_EQ(reasons(), Reasons{});
  clock.advance(seconds(1));
  take_turn();
  EXPECT_EQ(reasons(), Reasons{"turn"});
  take_turn();
  EXPECT_EQ(reasons(), Reasons{"turn"});
}

TEST_P(CadenceTest, PeriodCountsFromWhateverWasNamedLast) {
  start({.at = Cadence::At::period, .turns = 3});
  must(session->checkpoint());
  take_turn();
  take_turn();
  EXPECT_EQ(reasons(), Reasons{"asked"});
  take_turn();
  EXPECT_EQ(reasons(), (Reasons{"asked", "turn"}));
}

TEST_P(CadenceTest, PeriodGoesOnWhereAnotherProcessLeftIt) {
  start({.at = Cadence::At::period, .turns = 3, .time = seconds(60)});
  for (int turn = 2; turn <= 6; ++turn) {
    die_and_resume();
    take_turn();
  }
  EXPECT_EQ(reasons(), (Reasons{"turn", "turn"}));
  clock.advance(seconds(60));
  must(runtime->renew());
  die_and_resume();
  take_turn();
  EXPECT_EQ(reasons(), (Reasons{"turn", "turn", "turn"}));
}

TEST_P(CadenceTest, WhatHasNoNameIsThereAfterAResume) {
  start({.at = Cadence::At::period, .turns = 100, .time = seconds(6000)});
  take_turn();
  const State before = session->state();
  die_and_resume();
  EXPECT_EQ(session->state(), before);
}

INSTANTIATE_TEST_SUITE_P(Every, CadenceTest, testing::ValuesIn(every_backend()),
                         [](const auto& named) { return named.param.name; });

}  // namespace
}  // namespace perdure
