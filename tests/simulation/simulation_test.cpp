// Two thousand lives, each decided by its seed.
//
//   SEED=17 simulation_test    lives the 17th again, and tells it

#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <iostream>
#include <string>
#include <vector>

#include "contract/backends.hpp"
#include "property/seeds.hpp"
#include "simulation/life.hpp"

namespace perdure::simulation {
namespace {

constexpr std::size_t lives = 2000;
constexpr std::size_t shards = 8;
/// In stores where a commit takes its time; and however many are asked for.
constexpr std::size_t lives_elsewhere = 300;
constexpr std::size_t lives_elsewhere_max = 1000;

void tell(Life& life) {
  for (const std::string& line : life.story()) std::cout << "  " << line << "\n";
  if (life.complaints().empty()) return;
  for (const std::string& line : life.logs()) std::cout << "  log " << line << "\n";
}

/// What is left of a life once it is over. Two of one seed never live at once: their processes would be
/// the same ones, in stores of one incarnation.
struct Past {
  explicit Past(std::uint64_t seed, const Backend& backend = every_backend().front()) {
    Life life(seed, backend);
    life.live();
    story = life.story();
    complaints = life.complaints();
    logs = life.logs();
    digest = life.digest();
  }
  std::vector<std::string> story;
  std::vector<std::string> complaints;
  std::vector<std::string> logs;
  std::string digest;
};

class Simulation : public testing::TestWithParam<std::size_t> {};

TEST_P(Simulation, NoLifeBreaksAPromise) {
  const auto all = seeds(lives);
  std::size_t lived = 0;
  std::size_t violations = 0;
  for (std::size_t i = GetParam(); i < all.size() && violations < 5; i += shards) {
    Life life(all[i]);
    life.live();
    ++lived;
    if (all.size() == 1) tell(life);
    if (life.complaints().empty()) continue;
    ++violations;
    if (violations == 1 && all.size() > 1) tell(life);
    ADD_FAILURE() << "SEED=" << all[i] << ": " << life.complaints().front() << "; "
                  << reproduce(all[i]);
  }
  if (lived > 0) {
    std::cout << fmt::format("simulation: {} seeds, {} violations\n", lived, violations);
  }
}

INSTANTIATE_TEST_SUITE_P(Shard, Simulation, testing::Range<std::size_t>(0, shards));

// What a life does and what its log holds is decided by its seed alone: where its store is makes no
// difference, down to the byte.
class EveryStore : public testing::TestWithParam<Backend> {};

TEST_P(EveryStore, LivesTheSameLifeAsMemory) {
  std::size_t lived = 0;
  for (const std::uint64_t seed :
       seeds(runs_for(GetParam(), lives_elsewhere), runs_for(GetParam(), lives_elsewhere_max))) {
    const Past expected(seed);
    const Past life(seed, GetParam());
    ASSERT_TRUE(life.complaints.empty())
        << "SEED=" << seed << ": " << life.complaints.front() << "; " << reproduce(seed);
    // Not its story, which has messages for people in it: each backend has words of its own.
    ASSERT_EQ(life.logs, expected.logs) << "SEED=" << seed;
    ASSERT_EQ(life.digest, expected.digest) << "SEED=" << seed;
    ++lived;
  }
  std::cout << fmt::format("simulation: {}: {} seeds, 0 violations\n", GetParam().name, lived);
}

INSTANTIATE_TEST_SUITE_P(Every, EveryStore, testing::ValuesIn(surviving_backends()),
                         [](const auto& named) { return named.param.name; });

TEST(SimulationItself, LivesTheSameLifeTwice) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const Past first(seed);
    const Past second(seed);
    EXPECT_EQ(first.story, second.story);
    EXPECT_EQ(first.digest, second.digest) << "SEED=" << seed;
  }
}

}  // namespace
}  // namespace perdure::simulation
