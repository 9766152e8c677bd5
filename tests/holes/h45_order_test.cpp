// Hole 45: the latest checkpoint is the one that was put last, in every store alike.

#include <chrono>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <utility>

#include "contract/backends.hpp"
#include "doubles/counting_ids.hpp"
#include "doubles/fake_clock.hpp"
#include "doubles/must.hpp"
#include "holes/hole_session.hpp"
#include "perdure/adapters/saver.hpp"
#include "perdure/core/json.hpp"
#include "perdure/store/store.hpp"

namespace perdure {
namespace {

class Hole45 : public testing::TestWithParam<Backend> {
 protected:
  std::string put(std::string state) {
    return must(saver->put("t", must(RawJson::from_text(std::move(state))))).id;
  }

  StorePlace home{GetParam()};
  FakeClock clock;
  CountingIds ids;
  std::shared_ptr<Store> store = must(open_store(home.location(), {.clock = &clock, .ids = &ids}));
  const std::unique_ptr<CheckpointSaver> saver = make_saver(store, {.clock = &clock, .ids = &ids});
};

TEST_P(Hole45, AClockThatStepsBackDoesNotMakeAnOlderCheckpointTheLatest) {
  const std::string first = put(R"({"n":1})");
  clock.set_wall(clock.now() - std::chrono::hours(1));
  const std::string second = put(R"({"n":2})");

  EXPECT_EQ(must(saver->get("t"))->id, second);
  const auto listed = must(saver->list("t"));
  ASSERT_EQ(listed.size(), 2U);
  EXPECT_EQ(listed[0].id, second);
  EXPECT_EQ(listed[1].id, first);
}

INSTANTIATE_TEST_SUITE_P(EveryBackend, Hole45, testing::ValuesIn(every_backend()), backend_name);

}  // namespace
}  // namespace perdure
