// The server crashes every now and then, while several sessions commit. They notice nothing but
// the time it takes.

#include <cstdint>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>
#include <string>

#include "crash/scale.hpp"
#include "doubles/pg_proxy.hpp"
#include "doubles/postgres_server.hpp"
#include "postgres/load.hpp"

namespace perdure {
namespace {

// A restarted server may be given another port; the proxy always has the same.
std::string through(const PgProxy& proxy) {
  return fmt::format("postgres://perdure@127.0.0.1:{}/postgres", proxy.port());
}

TEST(Restarts, UnderLoadLoseAndDoubleNothing) {
  const int rounds = scale().rounds.value_or(4);
  std::mt19937_64 chance(scale().seed);
  PostgresServer server;
  server.start();
  PgProxy proxy(static_cast<std::uint16_t>(server.port()));
  PgLoad load(through(proxy), 6);
  for (int round = 0; round < rounds; ++round) {
    ASSERT_TRUE(load.wait_for(20 + static_cast<int>(chance() % 200))) << "round " << round;
    const bool is_killed = chance() % 2 == 0;
    server.stop(is_killed ? PostgresServer::Stop::killed : PostgresServer::Stop::immediate);
    server.start();
    proxy.turn_to(static_cast<std::uint16_t>(server.port()));
  }
  ASSERT_TRUE(load.wait_for(50));

  EXPECT_THAT(load.finish(), testing::IsEmpty());
  EXPECT_GT(proxy.count_of(".commit("), 0U);
  tell("restarts under load", rounds);
}

TEST(Restarts, ThatEndConnectionsPolitelyAreNoticedByNobody) {
  PostgresServer server;
  server.start();
  PgProxy proxy(static_cast<std::uint16_t>(server.port()));
  PgLoad load(through(proxy), 3);
  for (int round = 0; round < 2; ++round) {
    ASSERT_TRUE(load.wait_for(30)) << "round " << round;
    server.stop(PostgresServer::Stop::fast);
    server.start();
    proxy.turn_to(static_cast<std::uint16_t>(server.port()));
  }
  ASSERT_TRUE(load.wait_for(30));

  EXPECT_THAT(load.finish(), testing::IsEmpty());
}

}  // namespace
}  // namespace perdure
