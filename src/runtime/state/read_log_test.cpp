// The fold of a whole line: the same state, whichever plans were left unread.

#include "state/read_log.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <vector>

#include "perdure/runtime/conversation.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/log.hpp"
#include "state/log_of.hpp"
#include "state/random_log.hpp"

namespace perdure {
namespace {

State folded(const std::vector<Entry>& entries) {
  LogFold line;
  for (Entry entry : entries) line.take(entry);
  if (!line.read_last_plan()) {
    for (const Entry& entry : entries) line.take_plan(entry);
  }
  return line.finish();
}

TEST(LogFold, OfManyPlansHasTheLast) {
  LogOf log;
  for (const char* objective : {"first", "second", "third"}) {
    log.add("plan", "plan", to_json(Plan{.objective = objective}));
  }
  const auto state = folded(log.entries());
  EXPECT_EQ(state.plan->objective, "third");
  EXPECT_EQ(state, log.state());
}

TEST(LogFold, DoesNotLookIntoAPlanThatWasReplaced) {
  LogOf log;
  log.add("plan", "plan", "{");
  log.add("plan", "plan", to_json(Plan{.objective = "last"}));
  const auto state = folded(log.entries());
  EXPECT_EQ(state.plan->objective, "last");
  EXPECT_TRUE(state.skipped.empty());
}

TEST(LogFold, GoesBackToTheLastPlanThatCanBeRead) {
  LogOf log;
  log.add("plan", "plan", to_json(Plan{.objective = "replaced"}));
  log.add("plan", "plan", to_json(Plan{.objective = "in force"}));
  log.add("transcript", "message", "{");
  log.add("plan", "plan", R"({"v":2})");
  const auto state = folded(log.entries());
  EXPECT_EQ(state.plan->objective, "in force");
  EXPECT_EQ(state, log.state());
}

RC_GTEST_PROP(LogFold, MakesOfAnyLogWhatTheFoldMakes, ()) {
  LogOf log = any_log();
  State whole = log.state();
  const State state = folded(log.entries());
  if (state == whole) return;
  // What was replaced is not looked into.
  const auto is_unread = [](const Skipped& skipped) {
    return skipped.reason == SkipReason::unreadable || skipped.reason == SkipReason::newer;
  };
  std::erase_if(whole.skipped, [&](const Skipped& skipped) {
    return skipped.channel == "plan" && is_unread(skipped);
  });
  RC_ASSERT(state == whole);
}

}  // namespace
}  // namespace perdure
