// Machines disagree about the time by hours. Who owns what is the server's to say, and what is
// written has the server's time.

#include <chrono>
#include <cstdint>
#include <gtest/gtest.h>
#include <memory>
#include <string>

#include "doubles/must.hpp"
#include "doubles/postgres_cluster.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/store.hpp"

namespace perdure {
namespace {

using namespace std::chrono_literals;

/// The machine's clocks, and how far they are off.
class SkewedClock final : public Clock {
 public:
  explicit SkewedClock(Duration by) : by_(by) {}
  [[nodiscard]] Timestamp now() const override { return system_clock().now() + by_; }
  [[nodiscard]] Uptime uptime() const override { return system_clock().uptime() + by_; }

 private:
  Duration by_;
};

/// A process on a machine whose clock is wrong.
struct Machine {
  Machine(const PostgresSchema& schema, std::int64_t pid, Duration skew, Duration lease_time)
      : clock(skew),
        store(must(open_store(schema.location()))),
        runtime(must(Runtime::start(*store, {.host = "elsewhere",
                                             .pid = pid,
                                             .lease_time = lease_time,
                                             .renews_itself = false,
                                             .clock = &clock}))) {}

  SkewedClock clock;
  std::unique_ptr<Store> store;
  std::unique_ptr<Runtime> runtime;
};

class Skewed : public testing::TestWithParam<int> {
 protected:
  const PostgresSchema schema;
  const SessionId id = SessionId::parse("session").value();
};

TEST_P(Skewed, AClientTakesNothingFromALivingOwner) {
  Machine owner(schema, 7, 0h, 30s);
  Machine other(schema, 8, std::chrono::hours(GetParam()), 30s);
  Session session = must(owner.runtime->create({.id = id}));

  const auto taken = other.runtime->open(id);

  ASSERT_FALSE(taken.has_value());
  EXPECT_EQ(taken.error().code, ErrorCode::lease_held) << taken.error().message;
  must(session.record_request({}, user_says("a chair, please")));
}

TEST_P(Skewed, AClientKeepsWhatItOwnsAsLongAsAnybody) {
  Machine owner(schema, 7, std::chrono::hours(GetParam()), 30s);
  Machine other(schema, 8, 0h, 30s);
  Session session = must(owner.runtime->create({.id = id}));
  must(owner.runtime->renew());

  EXPECT_EQ(other.runtime->open(id).error().code, ErrorCode::lease_held);
  must(session.record_request({}, user_says("a chair, please")));
}

TEST_P(Skewed, AnOwnerThatDoesNotRenewIsSucceededWhenTheServersTimeIsUp) {
  Machine owner(schema, 7, std::chrono::hours(GetParam()), 500ms);
  Machine other(schema, 8, std::chrono::hours(-GetParam()), 30s);
  Session session = must(owner.runtime->create({.id = id}));

  const auto taken = other.runtime->open(id, 20s);

  ASSERT_TRUE(taken.has_value()) << taken.error().message;
  const auto late = session.record_request({}, user_says("a chair, please"));
  ASSERT_FALSE(late.has_value());
  EXPECT_EQ(late.error().code, ErrorCode::lease_lost);
}

TEST_P(Skewed, WhatIsWrittenHasTheServersTime) {
  Machine owner(schema, 7, std::chrono::hours(GetParam()), 30s);
  const Session session = must(owner.runtime->create({.id = id}));

  const auto row = must(owner.store->sessions().read(id));

  EXPECT_LT(std::chrono::abs(row.created_at - system_clock().now()), 10min);
  EXPECT_LT(std::chrono::abs(row.updated_at - system_clock().now()), 10min);
  EXPECT_LT(std::chrono::abs(row.holder.value().since - system_clock().now()), 10min);
}

INSTANTIATE_TEST_SUITE_P(ByHours, Skewed, testing::Values(-7, 7), [](const auto& named) {
  return std::string(named.param < 0 ? "Behind" : "Ahead");
});

}  // namespace
}  // namespace perdure
