// Reads and writes over a network that fails: what is repeated, and what the caller hears when time
// is over. The statement is of the kind this backend has: it knows by an id what it did already.

#include "postgres/client/client.hpp"

#include <chrono>
#include <cstdint>
#include <fmt/format.h>
#include <future>
#include <gtest/gtest.h>
#include <string>
#include <string_view>

#include "doubles/pg_proxy.hpp"
#include "doubles/pg_script.hpp"
#include "doubles/pgbouncer.hpp"
#include "doubles/postgres_cluster.hpp"
#include "doubles/postgres_server.hpp"
#include "doubles/postgres_wait.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/time.hpp"
#include "postgres/client/address.hpp"
#include "postgres/client/connection.hpp"
#include "postgres/client/error.hpp"
#include "postgres/client/params.hpp"

namespace perdure::postgres {
namespace {

constexpr Duration client_wait = std::chrono::minutes(5);
constexpr Duration short_patience{300};
constexpr std::string_view act = "SELECT perdure.act($1)";
constexpr std::string_view select = "SELECT count(*) FROM perdure.did";

std::uint16_t port_of_cluster() {
  return static_cast<std::uint16_t>(std::stoi(cluster().one("SHOW port")));
}

class ClientTest : public testing::Test {
 protected:
  ClientTest() {
    cluster().execute(fmt::format(
        "CREATE SCHEMA {0}; CREATE TABLE {0}.did (batch text PRIMARY KEY);"
        "CREATE FUNCTION {0}.act(p_batch text) RETURNS bigint LANGUAGE plpgsql AS $$BEGIN "
        "IF p_batch = 'bad' THEN RAISE EXCEPTION USING ERRCODE = 'PD006', MESSAGE = 'held', "
        "DETAIL = 'wrk_1'; END IF; "
        "INSERT INTO {0}.did VALUES (p_batch) ON CONFLICT DO NOTHING; "
        "RETURN CASE WHEN FOUND THEN 1 ELSE 2 END; END$$",
        schema.name()));
  }
  [[nodiscard]] Address through(int port) const {
    return parse_address(fmt::format("postgres://perdure@127.0.0.1:{}/postgres?schema={}", port,
                                     schema.name()))
        .value();
  }
  [[nodiscard]] std::string times_done() const {
    return cluster().one("SELECT count(*) FROM " + schema.name() + ".did");
  }
  [[nodiscard]] static Result<std::int64_t> count(Connection& connection) {
    Rows rows = connection.query(select);
    rows.next();
    return rows.integer(0);
  }

  PostgresSchema schema;
  PgProxy proxy{port_of_cluster()};
  Client client{through(proxy.port()), {.patience = client_wait}};
  Client hasty{through(proxy.port()), {.patience = short_patience}};
};

TEST_F(ClientTest, AWriteIsOneRoundTripOnceItIsKnown) {
  ASSERT_TRUE(client.write(act, Params::of("a")));
  const auto before = proxy.counts();
  ASSERT_TRUE(client.write(act, Params::of("b")));
  const auto after = proxy.counts();
  EXPECT_EQ(after.round_trips - before.round_trips, 1U);
  EXPECT_EQ(after.exchanges - before.exchanges, 1U);
  EXPECT_EQ(after.statements - before.statements, 1U);
  EXPECT_EQ(after.parses, before.parses);
  EXPECT_EQ(client.transactions(), 2U);
}

TEST_F(ClientTest, AWriteHappensOnceWhereverTheConnectionIsCut) {
  int expected = 0;
  for (const PgPlace place : every_pg_place) {
    const std::string batch(to_string(place));
    proxy.plan({.at = place, .of = "act("});
    const auto written = client.write(act, Params::of(batch));
    ASSERT_TRUE(written) << batch << ": " << written.error().message;
    EXPECT_TRUE(proxy.wait_for_plans());
    EXPECT_EQ(times_done(), std::to_string(++expected));
  }
}

TEST_F(ClientTest, AReplyThatWasLostIsFoundByTheRepetition) {
  proxy.plan({.at = PgPlace::after_reply, .of = "act("});
  auto written = client.write(act, Params::of("a"));
  ASSERT_TRUE(written);
  written->next();
  EXPECT_EQ(written->integer(0), 2);
}

TEST_F(ClientTest, AReadIsRepeated) {
  proxy.plan({.at = PgPlace::before_request, .of = "did"});
  proxy.plan({.at = PgPlace::within_reply, .of = "did", .nth = 2});
  int tries = 0;
  const auto read = client.read([&](Connection& connection) {
    ++tries;
    return count(connection);
  });
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, 0);
  EXPECT_EQ(tries, 3);
}

TEST_F(ClientTest, WhatWorkSaysIsHandedOn) {
  const auto read = client.read(
      [](Connection&) -> Result<int> { return fail(ErrorCode::not_found, "no such thing"); });
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ErrorCode::not_found);
}

TEST_F(ClientTest, AnAnswerOfOurFunctionsIsFinal) {
  const auto written = client.write(act, Params::of("bad"));
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error(), (Error{ErrorCode::lease_held, "held", "wrk_1"}));
  EXPECT_EQ(proxy.count_of("act("), 1U);
}

TEST_F(ClientTest, AWriteThatMayHaveHappenedIsUnknownWhenTimeIsOver) {
  ASSERT_TRUE(hasty.write(act, Params::of("first")));
  proxy.plan({.at = PgPlace::after_request, .of = "act("});
  proxy.refuse();  // So the last attempts surely do nothing; the first one counts.
  const auto heard = hasty.write(act, Params::of("a"));
  ASSERT_FALSE(heard);
  EXPECT_EQ(heard.error().code, ErrorCode::commit_unknown);
}

TEST_F(ClientTest, AWriteThatSurelyDidNotHappenIsUnavailable) {
  proxy.refuse();
  const auto written = hasty.write(act, Params::of("a"));
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::unavailable);
  EXPECT_EQ(times_done(), "0");
}

TEST_F(ClientTest, AReadIsNeverUnknown) {
  ASSERT_TRUE(hasty.read(count));
  proxy.plan({.at = PgPlace::after_request, .deed = PgDeed::hold, .of = "did"});
  auto read = std::async(std::launch::async, [&] { return hasty.read(count); });
  ASSERT_TRUE(proxy.wait_for_plans());
  proxy.refuse();
  const auto heard = read.get();
  proxy.go_on();
  ASSERT_FALSE(heard);
  EXPECT_EQ(heard.error().code, ErrorCode::unavailable);
}

TEST_F(ClientTest, AServerThatIsAwayForAWhileIsWaitedFor) {
  ASSERT_TRUE(client.write(act, Params::of("a")));
  proxy.refuse();
  proxy.cut_all();
  auto written = std::async(std::launch::async, [&] { return client.write(act, Params::of("b")); });
  EXPECT_EQ(written.wait_for(std::chrono::milliseconds(100)), std::future_status::timeout);
  proxy.admit();
  EXPECT_TRUE(written.get());
  EXPECT_EQ(times_done(), "2");
}

TEST_F(ClientTest, AMissingDatabaseIsToldAtOnceWithoutThePassword) {
  cluster().execute(fmt::format("CREATE ROLE {0} LOGIN PASSWORD 'right'", schema.name()));
  const std::string location = fmt::format("postgres://{}:verysecret@127.0.0.1:{}/no_such_database",
                                           schema.name(), proxy.port());
  Client wrong(parse_address(location).value(), {.patience = client_wait});
  const auto written = wrong.write(act, Params::of("a"));
  cluster().execute(fmt::format("DROP ROLE {}", schema.name()));
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::not_found);
  EXPECT_EQ(written.error().message.find("verysecret"), std::string::npos)
      << written.error().message;
  EXPECT_NE(written.error().message.find(":***@"), std::string::npos);
  EXPECT_EQ(proxy.counts().connections, 1U);
}

TEST_F(ClientTest, LocksOfOthersAreWaitedFor) {
  PostgresSql other(cluster().address());
  other.execute(fmt::format("BEGIN; LOCK TABLE {}.did", schema.name()));
  auto written = std::async(std::launch::async, [&] { return client.write(act, Params::of("a")); });
  EXPECT_EQ(written.wait_for(std::chrono::milliseconds(100)), std::future_status::timeout);
  const auto given_up = hasty.write(act, Params::of("b"));
  ASSERT_FALSE(given_up);
  EXPECT_EQ(given_up.error().code, ErrorCode::unavailable);
  other.execute("COMMIT");
  EXPECT_TRUE(written.get());
}

// A server shows what it committed itself as soon as nobody waits for the standby any more, for
// whatever reason. If it is lost now, so is the write.
TEST(ClientOfAPairTest, ARepetitionWaitsForTheStandbyToo) {
  PostgresServer server;
  server.start();
  PostgresSql sql(server.address() + "?options=-c%20synchronous_commit%3Dlocal");
  sql.execute("CREATE SCHEMA perdure; CREATE TABLE perdure.did (batch text PRIMARY KEY)");
  sql.execute("ALTER SYSTEM SET synchronous_standby_names = 'nobody'");
  sql.execute("SELECT pg_reload_conf()");
  wait_for_answer(server.address(), "SHOW synchronous_standby_names", "nobody");
  const auto await = [&](const std::string& query, const std::string& count) {
    wait_for_answer(server.address(),
                    "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND query "
                    "LIKE '" +
                        query + "%'",
                    count);
  };
  Client client(parse_address(server.address()).value(), {.patience = client_wait});
  auto written = std::async(std::launch::async, [&] {
    return client.write("INSERT INTO perdure.did VALUES ($1) ON CONFLICT DO NOTHING",
                        Params::of("a"));
  });
  await("INSERT", "1");
  sql.execute(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'");
  await("INSERT", "0");
  await("SELECT pg_logical", "1");
  EXPECT_EQ(written.wait_for(Duration(0)), std::future_status::timeout);
  sql.execute("ALTER SYSTEM SET synchronous_standby_names = ''");
  sql.execute("SELECT pg_reload_conf()");
  EXPECT_TRUE(written.get());
}

TEST(ClientOfAPairTest, ARepetitionIsWaitedForAlsoWhereTheServerWaitsForNothing) {
  PostgresServer server({"synchronous_commit=off"});
  server.start();
  PostgresSql sql(server.address());
  sql.execute("ALTER SYSTEM SET synchronous_standby_names = 'nobody'");
  sql.execute("SELECT pg_reload_conf()");
  wait_for_answer(server.address(), "SHOW synchronous_standby_names", "nobody");
  Counters counters;
  Connection connection(parse_address(server.address()).value(), Deadline(client_wait), counters);
  auto awaited = std::async(std::launch::async, [&] { connection.await_durability(); });
  wait_for_answer(server.address(),
                  "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'", "1");
  sql.execute("ALTER SYSTEM SET synchronous_standby_names = ''");
  // The server releases waiting sessions when its checkpointer reads the settings. A busy one may
  // miss the signal, and would look again only minutes later.
  do {
    sql.execute("SELECT pg_reload_conf()");
  } while (awaited.wait_for(std::chrono::seconds(1)) != std::future_status::ready);
  awaited.get();
}

TEST_F(ClientTest, WorksBehindAPooler) {
  const PgBouncer pooler(port_of_cluster(), 2);
  Client pooled(through(pooler.port()), {.patience = client_wait});
  for (int i = 0; i < 20; ++i) {
    const std::string batch = std::to_string(i);
    const auto written = pooled.write(act, Params::of(batch));
    ASSERT_TRUE(written) << written.error().message;
  }
  const auto is_pooled =
      pooled.read([](Connection& connection) -> Result<bool> { return connection.is_pooled(); });
  ASSERT_TRUE(is_pooled);
  EXPECT_TRUE(*is_pooled);
  EXPECT_EQ(times_done(), "20");
}

}  // namespace
}  // namespace perdure::postgres
