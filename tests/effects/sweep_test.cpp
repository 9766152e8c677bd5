// Death at every write of the store and at every step on the way to the world and back, and
// again during recovery. The world is asked what really happened.

#include <cstdint>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <iostream>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "contract/backends.hpp"
#include "crash/scale.hpp"
#include "effects/memory_trial.hpp"
#include "effects/play.hpp"
#include "effects/trial.hpp"

namespace perdure::effects {
namespace {

class EffectsSweep : public testing::TestWithParam<std::tuple<Backend, Manner>> {
 protected:
  [[nodiscard]] static std::unique_ptr<Trial> begin() {
    const auto& [backend, manner] = GetParam();
    if (backend.home == Home::object) return std::make_unique<MemoryTrial>(manner);
    return std::make_unique<Trial>(manner, backend);
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

  /// With a server one of so many places is tried, others with another seed, which the three
  /// manners share among them; `--full` tries all of them.
  [[nodiscard]] static std::uint64_t stride(std::uint64_t of_file, std::uint64_t of_server) {
    if (scale().full) return 1;
    return std::get<0>(GetParam()).home == Home::schema ? of_server : of_file;
  }
  [[nodiscard]] static std::uint64_t first(std::uint64_t every) {
    return 1 + (scale().seed - 1 + static_cast<std::uint64_t>(std::get<1>(GetParam()))) % every;
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
    const auto& [backend, manner] = GetParam();
    std::cout << fmt::format("effects: {}_{}: {} deaths, {} violations\n", backend.name,
                             to_string(manner), places_, violations_);
  }

 private:
  int places_ = 0;
  int violations_ = 0;
};

TEST_P(EffectsSweep, NoDeathAtAWriteDoublesOrLosesAnEffect) {
  const Death last = all_points();
  ASSERT_GT(last.write, 20U);
  const std::uint64_t every = stride(1, 9);
  for (std::uint64_t write = first(every); write <= last.write; write += every) {
    try_deaths({{.write = write}});
  }
}

TEST_P(EffectsSweep, NoDeathOnTheWayToTheWorldDoublesOrLosesAnEffect) {
  const Death last = all_points();
  ASSERT_GT(last.moment, 20U);
  const std::uint64_t every = stride(1, 3);
  for (std::uint64_t moment = first(every); moment <= last.moment; moment += every) {
    try_deaths({{.moment = moment}});
  }
}

TEST_P(EffectsSweep, NoDeathDuringRecoveryDoes) {
  const Death last = all_points();
  const std::uint64_t every = stride(3, 9);
  for (std::uint64_t moment = first(every); moment <= last.moment; moment += every) {
    for (const std::uint64_t again : {1U, 3U}) {
      try_deaths({{.moment = moment}, {.moment = again}});
    }
    try_deaths({{.moment = moment}, {.write = moment}});
  }
}

INSTANTIATE_TEST_SUITE_P(Every, EffectsSweep,
                         testing::Combine(testing::ValuesIn(every_backend()),
                                          testing::Values(Manner::goes_on, Manner::reissues,
                                                          Manner::rewords)),
                         [](const auto& named) {
                           return fmt::format("{}_{}", std::get<0>(named.param).name,
                                              to_string(std::get<1>(named.param)));
                         });

}  // namespace
}  // namespace perdure::effects
