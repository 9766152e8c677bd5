// The primary of a synchronous pair is killed under load and its standby promoted. Clients that know
// both addresses go on by themselves, and no acknowledged commit is lost.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>

#include "crash/scale.hpp"
#include "doubles/must.hpp"
#include "doubles/postgres_pair.hpp"
#include "herd/herd.hpp"
#include "perdure/store/store.hpp"
#include "postgres/load.hpp"

namespace perdure {
namespace {

TEST(FailOver, UnderLoadLosesNothingThatWasAcknowledged) {
  const int rounds = scale().rounds.value_or(1);
  for (int round = 0; round < rounds; ++round) {
    PostgresPair pair;
    PgLoad load(pair.address(), 6);
    ASSERT_TRUE(load.wait_for(200));

    pair.kill_primary();
    pair.promote();
    ASSERT_TRUE(load.wait_for(200));

    EXPECT_THAT(load.finish(), testing::IsEmpty());
  }
  tell("fail-over under load", rounds);
}

// What was to be synced later may not have reached the standby.
TEST(FailOver, ChangesTheLossToken) {
  PostgresPair pair;
  const std::string before = must(must(open_store(pair.address()))->loss_token());
  ASSERT_NE(before, "");

  pair.kill_primary();
  pair.promote();

  const std::string after = must(must(open_store(pair.address()))->loss_token());
  EXPECT_NE(after, "");
  EXPECT_NE(after, before);
}

// The world's book: sessions that are in the middle of their calls.
TEST(FailOver, UnderPlayDoublesNoEffect) {
  const int rounds = scale().rounds.value_or(1);
  for (int round = 0; round < rounds && !HasFailure(); ++round) {
    PostgresPair pair;
    (void)must(open_store(pair.address()));
    herd::Herd herd(pair.address(), 8, 2);
    // At another moment each time.
    ASSERT_TRUE(herd.hear(20 + round % 4 * 20));

    pair.kill_primary();
    pair.promote();

    EXPECT_THAT(herd.finish(), testing::IsEmpty());
  }
  tell("fail-over under play", rounds);
}

}  // namespace
}  // namespace perdure
