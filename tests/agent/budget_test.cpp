// A budget that is crossed in the middle of a turn holds for every process that comes after, and
// loses nothing that was paid for.

#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "agent/bought_model.hpp"
#include "agent/order.hpp"
#include "agent/trial.hpp"
#include "contract/backends.hpp"

namespace perdure::agents {
namespace {

class AgentBudget : public testing::TestWithParam<Backend> {
 protected:
  std::string last_words(const std::vector<std::string>& words) {
    const auto lines = trial.start(words)->read_to_end();
    return lines.empty() ? "" : lines.back();
  }
  [[nodiscard]] std::size_t bought() const {
    std::size_t all = 0;
    for (std::size_t i = 0; i < order_responses; ++i) {
      all += trial.world().count(response_op(i)).effects.size();
    }
    return all;
  }

  Trial trial{GetParam()};
};

TEST_P(AgentBudget, CrossedInATurnHoldsThroughThreeProcesses) {
  // A request reserves 8,192 tokens for its response, and some for itself; a response costs 100.
  const std::string first = last_words({"budget=9100"});
  ASSERT_TRUE(first.starts_with("budget ")) << first;
  const auto before = bought();
  EXPECT_GT(before, 0U);
  EXPECT_LT(before, order_responses);
  const auto done = trial.world().all();

  for (int process = 0; process < 3; ++process) EXPECT_EQ(last_words({}), first);

  EXPECT_EQ(trial.world().all(), done) << "nothing is bought, and nothing is done";
  const std::string last = last_words({"raise=1000000"});
  EXPECT_TRUE(last.starts_with("done ")) << last;
  trial.hear(last);
  trial.judge();
  for (const std::string& complaint : trial.complaints()) ADD_FAILURE() << complaint;
  EXPECT_EQ(bought(), order_responses) << "each response once";
}

INSTANTIATE_TEST_SUITE_P(Surviving, AgentBudget, testing::ValuesIn(surviving_backends()),
                         [](const auto& named) { return named.param.name; });

}  // namespace
}  // namespace perdure::agents
