// The installed conformance suite: our savers pass all of it, and wrong ones are caught.

#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "doubles/postgres_cluster.hpp"
#include "doubles/temp_folder.hpp"
#include "perdure/adapters/saver.hpp"
#include "perdure/core/json.hpp"
#include "saver/open_saver_at.hpp"
#include "saver/wrong_savers.hpp"

namespace perdure {

void PrintTo(const SaverCheck& check, std::ostream* out) { *out << check.name; }

namespace {

std::string name_of(const testing::TestParamInfo<SaverCheck>& info) {
  return std::string(info.param.name);
}

class SaverConformance : public testing::TestWithParam<SaverCheck> {};

TEST_P(SaverConformance, HoldsInMemory) {
  const auto problem = GetParam().run([] { return open_saver(":memory:").value(); });
  EXPECT_EQ(problem.value_or(""), "");
}

TEST_P(SaverConformance, HoldsInAFile) {
  const auto folder = TempFolder::in_memory();
  const auto problem = GetParam().run([&] { return open_saver(folder.file("saver.db")).value(); });
  EXPECT_EQ(problem.value_or(""), "");
}

TEST_P(SaverConformance, HoldsOnAServer) {
  const PostgresSchema schema;
  const auto problem = GetParam().run([&] { return open_saver_at(schema.location()).value(); });
  EXPECT_EQ(problem.value_or(""), "");
}

// Every put reads what it compares with, as a fresh process does.
TEST_P(SaverConformance, HoldsWithoutMemoryOfThePutBefore) {
  const auto problem =
      GetParam().run([] { return open_saver(":memory:", {.recent_bytes = 0}).value(); });
  EXPECT_EQ(problem.value_or(""), "");
}

INSTANTIATE_TEST_SUITE_P(Every, SaverConformance, testing::ValuesIn(saver_checks()), name_of);

/// The names of the checks that a saver fails.
std::set<std::string> failed_by(const MakeSaver& make) {
  std::set<std::string> failed;
  for (const SaverCheck& check : saver_checks()) {
    if (check.run(make)) failed.emplace(check.name);
  }
  return failed;
}

template <class Wrong>
std::set<std::string> failed_by() {
  return failed_by([] { return std::make_unique<Wrong>(); });
}

TEST(ConformanceSuite, FindsNothingWrongWithASaverInBetween) {
  EXPECT_EQ(failed_by<PassingSaver>(), std::set<std::string>{});
}

TEST(ConformanceSuite, CatchesAListThatIgnoresItsLimit) {
  EXPECT_TRUE(failed_by<EndlessList>().contains("LimitIsAHardCap"));
}

TEST(ConformanceSuite, CatchesAListWhoseBeforeIsNotStrict) {
  EXPECT_TRUE(failed_by<LaxBefore>().contains("BeforeIsStrictlyEarlier"));
}

TEST(ConformanceSuite, CatchesAStateThatOtherPutsChange) {
  EXPECT_TRUE(failed_by<LatestState>().contains("EveryStateStaysAsItWas"));
}

TEST(ConformanceSuite, CatchesReplayOfAnotherRequest) {
  EXPECT_EQ(failed_by<UnboundSteps>(), std::set<std::string>{"AStepIsBoundToItsRequest"});
}

TEST(ConformanceSuite, CatchesStepsWithoutAClaim) {
  EXPECT_TRUE(failed_by<UnclaimedSteps>().contains("OfManyOneGetsTheStep"));
}

TEST(ConformanceSuite, CatchesASaverThatTakesAnything) {
  EXPECT_EQ(failed_by<TakesAnything>(), std::set<std::string>{"OnlyObjectsAreTaken"});
}

TEST(ConformanceSuite, SaysSoWhenThereIsNoSaver) {
  for (const SaverCheck& check : saver_checks()) {
    EXPECT_TRUE(check.run([] { return nullptr; })) << check.name;
  }
}

}  // namespace
}  // namespace perdure
