// A worker's lease: kept by renewing, given up early, never taken back.

#include "runtime/api/worker.hpp"

#include <chrono>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <utility>

#include "doubles/counting_ids.hpp"
#include "doubles/fake_clock.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/store/store.hpp"

namespace perdure {
namespace {

using std::chrono::seconds;

class WorkerTest : public testing::Test {
 protected:
  std::unique_ptr<Worker> enroll(const std::string& id) {
    return Worker::enroll(*store, clock,
                          {.id = WorkerId::parse(id).value(),
                           .host = "here",
                           .pid = 1,
                           .lease_time = seconds(30),
                           .renews_itself = false})
        .value();
  }
  SessionId create() {
    const auto id = SessionId::parse("ses_1").value();
    EXPECT_TRUE(store->sessions().create({.id = id}));
    return id;
  }

  FakeClock clock;
  CountingIds ids;
  std::unique_ptr<Store> store = open_store("memory:", {.clock = &clock, .ids = &ids}).value();
};

TEST_F(WorkerTest, MayActUntilAWhileBeforeItsLeaseEnds) {
  const auto worker = enroll("w");
  EXPECT_TRUE(worker->may_act());
  clock.advance(seconds(25) - Duration(1));
  EXPECT_TRUE(worker->may_act());
  clock.advance(Duration(1));
  EXPECT_FALSE(worker->may_act());
}

TEST_F(WorkerTest, GoesOnWhenRenewed) {
  const auto worker = enroll("w");
  clock.advance(seconds(20));
  ASSERT_TRUE(worker->renew());
  clock.advance(seconds(20));
  EXPECT_TRUE(worker->may_act());
  EXPECT_FALSE(worker->stop_token().stop_requested());
}

TEST_F(WorkerTest, ThatIsLateStopsWhatItRuns) {
  const auto worker = enroll("w");
  const auto token = worker->stop_token();
  clock.advance(seconds(25));
  ASSERT_TRUE(worker->renew());
  EXPECT_TRUE(token.stop_requested());
  EXPECT_TRUE(worker->may_act());
  EXPECT_FALSE(worker->stop_token().stop_requested());
}

// Begun in time, and stopped on its way: others may have taken over before it arrived.
TEST_F(WorkerTest, WhoseRenewalCameBackLateStopsWhatItRuns) {
  class Jumping final : public Clock {
   public:
    explicit Jumping(FakeClock& behind) : behind_(behind) {}
    [[nodiscard]] Timestamp now() const override { return behind_.now(); }
    [[nodiscard]] Uptime uptime() const override {
      const Uptime seen = behind_.uptime();
      behind_.advance(std::exchange(jump, Duration(0)));
      return seen;
    }
    mutable Duration jump{0};

   private:
    FakeClock& behind_;
  };
  const Jumping jumping(clock);
  const auto worker = Worker::enroll(*store, jumping,
                                     {.id = WorkerId::parse("w").value(),
                                      .host = "here",
                                      .pid = 1,
                                      .lease_time = seconds(30),
                                      .renews_itself = false})
                          .value();
  const auto token = worker->stop_token();
  clock.advance(seconds(20));
  jumping.jump = seconds(20);

  ASSERT_TRUE(worker->renew());

  EXPECT_TRUE(token.stop_requested());
}

TEST_F(WorkerTest, FreesWhatItHoldsAtItsEnd) {
  const auto session = create();
  auto first = enroll("w1");
  const auto second = enroll("w2");
  ASSERT_TRUE(store->ownership().acquire(session, first->id()));
  EXPECT_FALSE(store->ownership().acquire(session, second->id()));
  first.reset();
  EXPECT_TRUE(store->ownership().acquire(session, second->id()));
}

TEST_F(WorkerTest, EndsWhatItRunsAtItsEnd) {
  auto worker = enroll("w");
  const auto token = worker->stop_token();
  worker.reset();
  EXPECT_TRUE(token.stop_requested());
}

TEST_F(WorkerTest, RenewsByItself) {
  const auto before = store->change_number().value();
  const auto worker = Worker::enroll(*store, clock,
                                     {.id = WorkerId::parse("w").value(),
                                      .host = "here",
                                      .pid = 1,
                                      .lease_time = Duration(300)})
                          .value();
  clock.advance(Duration(200));
  // Enrolling is one change; when the thread renews a second time, the first one has counted.
  auto seen = store->wait_for_change(before, std::chrono::minutes(5)).value();
  for (int renewals = 0; renewals < 2; ++renewals) {
    const auto next = store->wait_for_change(seen, std::chrono::minutes(5)).value();
    ASSERT_GT(next, seen);
    seen = next;
  }
  clock.advance(Duration(200));
  EXPECT_TRUE(worker->may_act());
}

}  // namespace
}  // namespace perdure
