// What lies between two states.

#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/log.hpp"
#include "runtime/api/read.hpp"
#include "state/log_fixture.hpp"

namespace perdure {
namespace {

TEST(Diff, OfAStateWithItselfIsEmpty) {
  LogOf log;
  log.say(user_says("Hi"));
  EXPECT_TRUE(diff(log.state(), log.state()).is_empty());
  EXPECT_TRUE(diff(State{}, State{}).is_empty());
}

TEST(Diff, NamesMessagesByPosition) {
  State a;
  State b;
  a.transcript = {{1, user_says("Hi")}, {2, user_says("left")}, {4, user_says("one")}};
  b.transcript = {{1, user_says("Hi")},
                  {3, user_says("right")},
                  {4, user_says("other")},
                  {5, user_says("end")}};
  const Difference found = diff(a, b);
  EXPECT_EQ(found.messages_removed, (std::vector<Position>{2, 4}));
  EXPECT_EQ(found.messages_added, (std::vector<Position>{3, 4, 5}));
  const Difference back = diff(b, a);
  EXPECT_EQ(back.messages_added, found.messages_removed);
  EXPECT_EQ(back.messages_removed, found.messages_added);
}

TEST(Diff, SaysWhichValuesChanged) {
  const State empty;
  State state;
  state.setup = perdure::Setup{};
  EXPECT_EQ(diff(empty, state), (Difference{.is_setup_changed = true}));
  state = {};
  state.plan = Plan{};
  EXPECT_EQ(diff(empty, state), (Difference{.is_plan_changed = true}));
  state = {};
  state.budget.totals.spent = 1;
  EXPECT_EQ(diff(empty, state), (Difference{.is_budget_changed = true}));
}

TEST(Diff, NamesWhatChangedOnEitherSide) {
  State a;
  State b;
  a.counters.values = {{"left", 0}, {"same", 1}, {"x", 1}};
  b.counters.values = {{"right", 0}, {"same", 1}, {"x", 2}};
  a.scratchpad.values = {{"k", "1"}, {"s", "1"}};
  b.scratchpad.values = {{"k", "2"}, {"s", "1"}};
  a.channels["notes"] = {};
  const Difference found = diff(a, b);
  EXPECT_EQ(found.counters, (std::vector<std::string>{"left", "right", "x"}));
  EXPECT_EQ(found.scratchpad, (std::vector<std::string>{"k"}));
  EXPECT_EQ(found.channels, (std::vector<std::string>{"notes"}));
}

}  // namespace
}  // namespace perdure
