// What a put and a step sync, counted.

#include <cstdint>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "counted/counted_store.hpp"
#include "perdure/adapters/saver.hpp"
#include "perdure/core/json.hpp"
#include "perdure/store/store.hpp"

namespace perdure {
namespace {

class SaverSyncs : public testing::Test {
 protected:
  void put() { ASSERT_TRUE(saver_->put("t", RawJson::from_text(R"({"n":1})").value())); }

  CheckpointSaver::StepClaim claim() {
    return std::get<CheckpointSaver::StepClaim>(
        saver_->claim_step("t", std::to_string(++steps_), "f").value());
  }

  /// Syncs since it was asked last.
  std::uint64_t syncs() { return counted_.syncs() - std::exchange(seen_, counted_.syncs()); }

  CountedStore counted_;
  // The test's own store: the pointer owns nothing.
  const std::unique_ptr<CheckpointSaver> saver_ =
      make_saver(std::shared_ptr<Store>(std::shared_ptr<Store>(), &counted_.store()));
  int steps_ = 0;
  std::uint64_t seen_ = 0;
};

// The grant of the lease comes to disk with the put.
TEST_F(SaverSyncs, APutSyncsOnce) {
  put();
  (void)syncs();
  put();
  EXPECT_EQ(syncs(), 1U);
}

// The claim itself is not synced: if the machine dies with it, so does the claimant.
TEST_F(SaverSyncs, AStepSyncsItsResultOnly) {
  ASSERT_TRUE(saver_->fill_step(claim(), RawJson{}));
  (void)syncs();
  const auto mine = claim();
  const std::uint64_t claimed = syncs();
  ASSERT_TRUE(saver_->fill_step(mine, RawJson{}));
  EXPECT_EQ(claimed, 0U);
  EXPECT_EQ(syncs(), 1U);
}

TEST_F(SaverSyncs, AStepThatWasDoneSyncsNothing) {
  const auto mine = claim();
  ASSERT_TRUE(saver_->fill_step(mine, RawJson{}));
  (void)syncs();
  EXPECT_TRUE(saver_->claim_step("t", mine.step_key, "f"));
  EXPECT_EQ(syncs(), 0U);
}

}  // namespace
}  // namespace perdure
