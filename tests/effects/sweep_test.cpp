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

  /// With a server the three manners share the places among them, and a write is one of many.
  [[nodiscard]] static bool is_on_a_server() {
    return std::get<0>(GetParam()).home == Home::schema;
  }
  [[nodiscard]] static std::uint64_t first() {
    return is_on_a_server() ? 1 + static_cast<std::uint64_t>(std::get<1>(GetParam())) : 1;
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
  const std::uint64_t stride = is_on_a_server() ? 9 : 1;
  for (std::uint64_t write = first(); write <= last.write; write += stride) {
    try_deaths({{.write = write}});
  }
}

TEST_P(EffectsSweep, NoDeathOnTheWayToTheWorldDoublesOrLosesAnEffect) {
  const Death last = all_points();
  ASSERT_GT(last.moment, 20U);
  const std::uint64_t stride = is_on_a_server() ? 3 : 1;
  for (std::uint64_t moment = first(); moment <= last.moment; moment += stride) {
    try_deaths({{.moment = moment}});
  }
}

TEST_P(EffectsSweep, NoDeathDuringRecoveryDoes) {
  const Death last = all_points();
  const std::uint64_t stride = is_on_a_server() ? 9 : 3;
  for (std::uint64_t moment = 1 + first(); moment <= last.moment; moment += stride) {
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
