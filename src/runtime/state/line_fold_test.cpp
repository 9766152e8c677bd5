// The fold of a whole line: the same state, whichever plans were left unread.

#include "state/line_fold.hpp"

#include <gtest/gtest.h>
#include <optional>
#include <rapidcheck/gtest.h>
#include <vector>

#include "perdure/runtime/conversation.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/log.hpp"
#include "state/log_of.hpp"
#include "state/random_log.hpp"

namespace perdure::folding {
namespace {

std::optional<State> folded(std::vector<Entry> entries) {
  LineFold line;
  for (Entry& entry : entries) line.take(entry);
  return line.finish();
}

TEST(LineFold, OfManyPlansHasTheLast) {
  LogOf log;
  for (const char* objective : {"first", "second", "third"}) {
    log.add("plan", "plan", to_json(Plan{.objective = objective}));
  }
  const auto state = folded(log.entries());
  ASSERT_TRUE(state);
  EXPECT_EQ(state->plan->objective, "third");
  EXPECT_EQ(*state, log.state());
}

TEST(LineFold, DoesNotLookIntoAPlanThatWasReplaced) {
  LogOf log;
  log.add("plan", "plan", "{");
  log.add("plan", "plan", to_json(Plan{.objective = "last"}));
  const auto state = folded(log.entries());
  ASSERT_TRUE(state);
  EXPECT_EQ(state->plan->objective, "last");
  EXPECT_TRUE(state->skipped.empty());
}

TEST(LineFold, DoesNotGuessWhichPlanIsInForceIfTheLastCannotBeRead) {
  LogOf log;
  log.add("plan", "plan", to_json(Plan{.objective = "in force"}));
  log.add("plan", "plan", R"({"v":2})");
  EXPECT_FALSE(folded(log.entries()));
}

RC_GTEST_PROP(LineFold, MakesOfAnyLogWhatTheFoldMakes, ()) {
  LogOf log = any_log();
  State whole = log.state();
  auto state = folded(log.entries());
  if (!state) {
    RC_ASSERT(!whole.skipped.empty());
    return;
  }
  // What was replaced is not looked into.
  const auto is_unread = [](const Skipped& skipped) {
    return skipped.reason == SkipReason::unreadable || skipped.reason == SkipReason::newer;
  };
  std::erase_if(whole.skipped, [&](const Skipped& skipped) {
    return skipped.channel == "plan" && is_unread(skipped);
  });
  RC_ASSERT(*state == whole);
}

}  // namespace
}  // namespace perdure::folding
