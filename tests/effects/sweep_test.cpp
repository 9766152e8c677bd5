// Death at every write of the store and at every step on the way to the world and back, and
// again during recovery. The world is asked what really happened.

#include <cstdint>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "effects/memory_trial.hpp"
#include "effects/play.hpp"
#include "effects/trial.hpp"

namespace perdure::effects {
namespace {

struct Case {
  std::string backend;
  Manner manner;

  [[nodiscard]] std::string name() const {
    return fmt::format("{}_{}", backend, to_string(manner));
  }
};

class EffectsSweep : public testing::TestWithParam<Case> {
 protected:
  [[nodiscard]] static std::unique_ptr<Trial> begin() {
    const auto& [backend, manner] = GetParam();
    if (backend == "memory") return std::make_unique<MemoryTrial>(manner);
    return std::make_unique<Trial>(manner);
  }

  void try_deaths(const std::vector<Death>& deaths) {
    const auto begun = begin();
    Trial& trial = *begun;
    std::string what;
    for (const Death& death : deaths) {
      what += fmt::format(" write {} moment {};", death.write, death.moment);
      trial.play(death);
    }
    trial.finish();
    trial.judge();
    ++places_;
    for (const std::string& complaint : trial.complaints()) {
      if (++violations_ <= 10) ADD_FAILURE() << "death at" << what << " " << complaint;
    }
  }

  Death all_points() {
    const auto begun = begin();
    Trial& trial = *begun;
    trial.finish();
    trial.judge();
    EXPECT_TRUE(trial.complaints().empty()) << trial.complaints().front();
    return trial.points();
  }

  ~EffectsSweep() override {
    std::cout << fmt::format("effects: {}: {} deaths, {} violations\n", GetParam().name(), places_,
                             violations_);
  }

 private:
  int places_ = 0;
  int violations_ = 0;
};

TEST_P(EffectsSweep, NoDeathAtAWriteDoublesOrLosesAnEffect) {
  const Death last = all_points();
  ASSERT_GT(last.write, 20U);
  for (std::uint64_t write = 1; write <= last.write; write += 1) try_deaths({{.write = write}});
}

TEST_P(EffectsSweep, NoDeathOnTheWayToTheWorldDoublesOrLosesAnEffect) {
  const Death last = all_points();
  ASSERT_GT(last.moment, 20U);
  for (std::uint64_t moment = 1; moment <= last.moment; ++moment) try_deaths({{.moment = moment}});
}

TEST_P(EffectsSweep, NoDeathDuringRecoveryDoes) {
  const Death last = all_points();
  for (std::uint64_t moment = 2; moment <= last.moment; moment += 3) {
    for (const std::uint64_t again : {1U, 3U}) {
      try_deaths({{.moment = moment}, {.moment = again}});
    }
    try_deaths({{.moment = moment}, {.write = moment}});
  }
}

INSTANTIATE_TEST_SUITE_P(
    Every, EffectsSweep,
    testing::Values(Case{"sqlite", Manner::goes_on}, Case{"sqlite", Manner::reissues},
                    Case{"sqlite", Manner::rewords}, Case{"memory", Manner::goes_on},
                    Case{"memory", Manner::reissues}, Case{"memory", Manner::rewords}),
    [](const auto& named) { return named.param.name(); });

}  // namespace
}  // namespace perdure::effects
