// What the network does to a request, and what becomes of the operation.

#include <gtest/gtest.h>
#include <string>
#include <string_view>
#include <tuple>

#include "contract/backends.hpp"
#include "effects/play.hpp"
#include "effects/trial.hpp"
#include "world/world.hpp"

namespace perdure::effects {
namespace {

class Network : public testing::TestWithParam<std::tuple<Backend, Manner>> {
 protected:
  void expect_sound() {
    trial.finish();
    trial.judge();
    for (const std::string& complaint : trial.complaints()) ADD_FAILURE() << complaint;
  }

  Trial trial{std::get<1>(GetParam()), std::get<0>(GetParam())};
};

TEST_P(Network, ALateRequestThatLandsAfterVerifySaidNoIsNotMadeTwice) {
  trial.world().plan({.fate = world::Fate::late, .op = "pay-1", .after = 1});
  expect_sound();
  EXPECT_EQ(trial.world().count("pay-1").requests.size(), 1U);
}

TEST_P(Network, ALostRequestIsMadeAgain) {
  trial.world().plan({.fate = world::Fate::lose_request, .op = "pay-1"});
  expect_sound();
  EXPECT_EQ(trial.world().count("pay-1").requests.size(), 2U);
}

TEST_P(Network, ALostAnswerIsFoundByVerify) {
  trial.world().plan({.fate = world::Fate::lose_answer, .op = "pay-1"});
  expect_sound();
  EXPECT_EQ(trial.world().count("pay-1").requests.size(), 1U);
}

TEST_P(Network, ALostAnswerOfAToolThatHonoursKeysIsAskedForAgain) {
  trial.world().plan({.fate = world::Fate::lose_answer, .op = "reserve-1"});
  expect_sound();
  EXPECT_EQ(trial.world().count("reserve-1").effects.size(), 1U);
}

TEST_P(Network, ALostAnswerOfAnUnsafeToolIsForAPersonToFind) {
  trial.world().plan({.fate = world::Fate::lose_answer, .op = "call-carrier-1"});
  expect_sound();
  EXPECT_EQ(trial.world().count("call-carrier-1").requests.size(), 1U);
}

INSTANTIATE_TEST_SUITE_P(Every, Network,
                         testing::Combine(testing::ValuesIn(surviving_backends()),
                                          testing::Values(Manner::goes_on, Manner::reissues,
                                                          Manner::rewords)),
                         [](const auto& named) {
                           return std::get<0>(named.param).name + "_" +
                                  std::string(to_string(std::get<1>(named.param)));
                         });

}  // namespace
}  // namespace perdure::effects
