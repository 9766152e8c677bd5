// A pool of connections to a real server.

#include "postgres/client/pool.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <future>
#include <gtest/gtest.h>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "doubles/free_port.hpp"
#include "doubles/postgres_cluster.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/time.hpp"
#include "postgres/client/address.hpp"
#include "postgres/client/connection.hpp"
#include "postgres/client/error.hpp"
#include "postgres/client/params.hpp"

namespace perdure::postgres {
namespace {

constexpr Duration pool_wait = std::chrono::minutes(5);

class PoolTest : public testing::Test {
 protected:
  [[nodiscard]] Pool::Loan borrow() { return pool.borrow(Deadline(pool_wait)); }
  /// The server's process behind the connection that is lent next.
  [[nodiscard]] std::int64_t process() { return borrow()->server_process(); }
  static void end(std::int64_t process) {
    cluster().execute("SELECT pg_terminate_backend(" + std::to_string(process) + ", 10000)");
  }

  Counters counters;
  Pool pool{parse_address(cluster().address() + "?pool=2").value(), counters};
};

TEST_F(PoolTest, ConnectsToNothingUntilAsked) {
  EXPECT_EQ(pool.size(), 0U);
  EXPECT_EQ(counters.connects, 0U);
}

TEST_F(PoolTest, LendsTheSameConnectionAgain) {
  EXPECT_EQ(process(), process());
  EXPECT_EQ(counters.connects, 1U);
}

TEST_F(PoolTest, SaysWhenAllAreInUse) {
  const auto first = borrow();
  const auto second = borrow();
  try {
    (void)pool.borrow(Deadline(Duration(20)));
    FAIL() << "a third of two";
  } catch (const PgError& error) {
    EXPECT_EQ(error.to_error().code, ErrorCode::unavailable);
    EXPECT_NE(error.to_error().message.find("pool="), std::string::npos);
  }
  EXPECT_EQ(pool.size(), 2U);
}

TEST_F(PoolTest, WhoWaitsGetsTheFirstThatComesBack) {
  auto first = std::optional(borrow());
  const auto second = borrow();
  const std::int64_t expected = (*first)->server_process();
  auto waiting = std::async(std::launch::async, [&] { return process(); });
  EXPECT_EQ(waiting.wait_for(std::chrono::milliseconds(20)), std::future_status::timeout);
  first.reset();
  EXPECT_EQ(waiting.get(), expected);
}

TEST_F(PoolTest, ReplacesOneThatDiedWhileIdle) {
  const std::int64_t dead = process();
  end(dead);
  const auto loan = borrow();
  EXPECT_NE(loan->server_process(), dead);
  EXPECT_EQ(loan->query("SELECT 1").count(), 1U);
  EXPECT_EQ(pool.size(), 1U);
}

TEST_F(PoolTest, ThrowsAwayOneThatDiedInUse) {
  std::int64_t dead = 0;
  {
    const auto loan = borrow();
    dead = loan->server_process();
    end(dead);
    EXPECT_THROW(loan->query("SELECT 1"), PgError);
  }
  EXPECT_EQ(pool.size(), 0U);
  EXPECT_NE(process(), dead);
}

TEST_F(PoolTest, KeepsOneWhoseStatementFailed) {
  const std::int64_t before = process();
  EXPECT_THROW(borrow()->query("SELECT nonsense"), PgError);
  EXPECT_EQ(process(), before);
}

TEST_F(PoolTest, ClosesOneWithLargeBuffers) {
  const std::string body(std::size_t{40} << 20, 'x');
  (void)borrow()->query("SELECT length($1)", Params::of(body));
  EXPECT_EQ(pool.size(), 0U);
}

TEST_F(PoolTest, GivesTheNextBorrowerItsOwnPatience) {
  borrow()->set_patience(Duration(0));
  EXPECT_EQ(borrow()->query("SELECT 1 FROM pg_sleep(0.05)").count(), 1U);
}

TEST_F(PoolTest, AFailedConnectLeavesRoom) {
  Pool nowhere(
      parse_address("postgres://127.0.0.1:" + std::to_string(free_port()) + "/d?pool=1").value(),
      counters);
  for (int i = 0; i < 3; ++i) {
    EXPECT_THROW((void)nowhere.borrow(Deadline(Duration(500))), PgError);
    EXPECT_EQ(nowhere.size(), 0U);
  }
}

TEST_F(PoolTest, GoesOnToTheHostThatAnswers) {
  std::string location = cluster().address();
  const std::size_t host = location.find("127.0.0.1");
  location.insert(host, "127.0.0.1:" + std::to_string(free_port()) + ",");
  Pool several(parse_address(location).value(), counters);
  EXPECT_EQ(several.borrow(Deadline(pool_wait))->host(), 1U);
}

TEST_F(PoolTest, ServesManyThreads) {
  std::vector<std::jthread> threads;
  threads.reserve(8);
  std::atomic<int> served = 0;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 25; ++n) served += static_cast<int>(borrow()->query("SELECT 1").count());
    });
  }
  threads.clear();
  EXPECT_EQ(served, 8 * 25);
  EXPECT_LE(counters.connects, 2U);
}

}  // namespace
}  // namespace perdure::postgres
