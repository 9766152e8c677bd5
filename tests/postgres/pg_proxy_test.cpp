// The proxy that other tests rest on: what each of its deeds leaves behind at a real server, seen
// by a plain client.

#include "doubles/pg_proxy.hpp"

#include <chrono>
#include <cstdint>
#include <fmt/format.h>
#include <future>
#include <gtest/gtest.h>
#include <libpq-fe.h>
#include <memory>
#include <string>

#include "doubles/pg_script.hpp"
#include "doubles/postgres_cluster.hpp"
#include "doubles/postgres_wait.hpp"
#include "perdure/core/time.hpp"

namespace perdure {
namespace {

struct Finishes {
  void operator()(PGconn* connection) const { PQfinish(connection); }
};
struct Clears {
  void operator()(PGresult* result) const { PQclear(result); }
};

/// What a client that is not Perdure hears.
class PlainClient {
 public:
  explicit PlainClient(const std::string& address) : connection_(PQconnectdb(address.c_str())) {}

  [[nodiscard]] bool is_open() const { return PQstatus(connection_.get()) == CONNECTION_OK; }
  /// The first value, "done" without one, or "lost".
  [[nodiscard]] std::string ask(const std::string& sql) const {
    const Answer answer(
        PQexecParams(connection_.get(), sql.c_str(), 0, nullptr, nullptr, nullptr, nullptr, 0));
    const ExecStatusType status = PQresultStatus(answer.get());
    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) return "lost";
    return PQntuples(answer.get()) > 0 ? PQgetvalue(answer.get(), 0, 0) : "done";
  }
  [[nodiscard]] PGconn* connection() const { return connection_.get(); }

 private:
  using Answer = std::unique_ptr<PGresult, Clears>;
  std::unique_ptr<PGconn, Finishes> connection_;
};

int port_of_cluster() { return std::stoi(cluster().one("SHOW port")); }

class PgProxyTest : public testing::Test {
 protected:
  PgProxyTest() {
    cluster().execute(
        fmt::format("CREATE SCHEMA {0}; CREATE TABLE {0}.t (n bigint)", schema.name()));
  }

  [[nodiscard]] std::string address() const {
    return fmt::format("postgres://perdure@127.0.0.1:{}/postgres", proxy.port());
  }
  [[nodiscard]] std::string insert() const {
    return fmt::format("INSERT INTO {}.t VALUES (1) RETURNING n", schema.name());
  }
  [[nodiscard]] std::string rows() const {
    return cluster().one(fmt::format("SELECT count(*) FROM {}.t", schema.name()));
  }
  void expect_rows(const std::string& count) const {
    wait_for_answer(cluster().address(), fmt::format("SELECT count(*) FROM {}.t", schema.name()),
                    count);
  }
  /// Of the server's processes that serve this test's connections, none is left.
  void expect_nobody_left() const {
    wait_for_answer(cluster().address(),
                    fmt::format("SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%{}%' "
                                "AND pid <> pg_backend_pid() AND query LIKE 'INSERT%'",
                                schema.name()),
                    "0");
  }

  const PostgresSchema schema;
  PgProxy proxy{static_cast<std::uint16_t>(port_of_cluster())};
};

TEST_F(PgProxyTest, PassesEverythingOnAndCountsIt) {
  const PlainClient client(address());

  EXPECT_EQ(client.ask("SELECT 17"), "17");
  EXPECT_EQ(client.ask(insert()), "1");

  EXPECT_EQ(
      proxy.counts(),
      (PgCounts{.connections = 1, .round_trips = 2, .exchanges = 2, .statements = 2, .parses = 2}));
  EXPECT_EQ(proxy.count_of("INSERT"), 1U);
}

TEST_F(PgProxyTest, APipelineIsOneExchangeAndAsManyRoundTripsAsSyncs) {
  const PlainClient client(address());
  PGconn* const connection = client.connection();
  ASSERT_EQ(PQenterPipelineMode(connection), 1);

  for (int sent = 0; sent < 3; ++sent) {
    ASSERT_EQ(PQsendQueryParams(connection, "SELECT 1", 0, nullptr, nullptr, nullptr, nullptr, 0),
              1);
  }
  ASSERT_EQ(PQpipelineSync(connection), 1);
  ASSERT_TRUE(proxy.wait_until([](const PgCounts& counts) { return counts.round_trips == 1; }));

  EXPECT_EQ(proxy.counts().exchanges, 1U);
  EXPECT_EQ(proxy.counts().statements, 3U);
}

TEST_F(PgProxyTest, ALargePipelineDoesNotBlock) {
  const PlainClient client(address());
  PGconn* const connection = client.connection();
  ASSERT_EQ(PQenterPipelineMode(connection), 1);

  for (int sent = 0; sent < 200; ++sent) {
    ASSERT_EQ(PQsendQueryParams(connection, "SELECT repeat('x', 100000)", 0, nullptr, nullptr,
                                nullptr, nullptr, 0),
              1);
  }
  ASSERT_EQ(PQpipelineSync(connection), 1);

  EXPECT_TRUE(proxy.wait_until([](const PgCounts& counts) { return counts.round_trips == 1; }));
}

class PgProxyCuts : public PgProxyTest, public testing::WithParamInterface<PgPlace> {};

TEST_P(PgProxyCuts, LoseTheConnectionAndLeaveWhatTheyPromise) {
  const PlainClient client(address());
  proxy.plan({.at = GetParam(), .of = "INSERT"});

  EXPECT_EQ(client.ask("SELECT 17"), "17");
  EXPECT_EQ(client.ask(insert()), "lost");

  EXPECT_TRUE(proxy.wait_for_plans());
  expect_nobody_left();
  // A server that is slow to read may notice first that nobody is there.
  if (GetParam() == PgPlace::after_request) return;
  EXPECT_EQ(rows(), GetParam() > PgPlace::after_request ? "1" : "0");
}

TEST_P(PgProxyCuts, OrHoldUntilTheyAreToldToGoOn) {
  const PlainClient client(address());
  proxy.plan({.at = GetParam(), .deed = PgDeed::hold, .of = "INSERT"});

  auto answer = std::async(std::launch::async, [&] { return client.ask(insert()); });
  ASSERT_TRUE(proxy.wait_for_plans());
  if (GetParam() >= PgPlace::after_request) expect_rows("1");
  EXPECT_EQ(rows(), GetParam() >= PgPlace::after_request ? "1" : "0");
  EXPECT_EQ(proxy.held_backend(), PQbackendPID(client.connection()));
  EXPECT_EQ(answer.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  proxy.go_on();

  EXPECT_EQ(answer.get(), "1");
  EXPECT_EQ(rows(), "1");
}

TEST_P(PgProxyCuts, HappenToTheOneThatIsMeantAndOnce) {
  proxy.plan({.at = GetParam(), .of = "INSERT", .nth = 2});

  EXPECT_EQ(PlainClient(address()).ask(insert()), "1");
  EXPECT_EQ(PlainClient(address()).ask(insert()), "lost");
  EXPECT_EQ(PlainClient(address()).ask(insert()), "1");
}

INSTANTIATE_TEST_SUITE_P(Every, PgProxyCuts, testing::ValuesIn(every_pg_place),
                         [](const auto& named) { return std::string(to_string(named.param)); });

TEST_F(PgProxyTest, ABackendThatIsHeldBeforeItsSyncHasRunItsStatement) {
  const PlainClient client(address());
  proxy.plan({.at = PgPlace::before_sync, .deed = PgDeed::hold});
  auto answer = std::async(std::launch::async, [&] { return client.ask(insert()); });
  ASSERT_TRUE(proxy.wait_for_plans());

  cluster().execute(fmt::format("SELECT pg_terminate_backend({})", proxy.held_backend().value()));
  proxy.go_on();

  EXPECT_EQ(answer.get(), "lost");
  expect_nobody_left();
  EXPECT_EQ(rows(), "0");
}

TEST_F(PgProxyTest, APauseLetsNothingThrough) {
  const PlainClient client(address());
  EXPECT_EQ(client.ask("SELECT 17"), "17");

  proxy.pause();
  auto answer = std::async(std::launch::async, [&] { return client.ask(insert()); });
  EXPECT_EQ(PQping((address() + "?connect_timeout=2").c_str()), PQPING_NO_RESPONSE);
  EXPECT_EQ(rows(), "0");
  proxy.go_on();

  EXPECT_EQ(answer.get(), "1");
}

TEST_F(PgProxyTest, RefusesClientsAndAdmitsThemAgain) {
  const PlainClient client(address());

  proxy.refuse();
  EXPECT_FALSE(PlainClient(address()).is_open());
  EXPECT_EQ(client.ask("SELECT 17"), "17");
  proxy.admit();

  EXPECT_TRUE(PlainClient(address()).is_open());
}

TEST_F(PgProxyTest, CutsAllThatAreOpen) {
  const PlainClient first(address());
  const PlainClient second(address());

  proxy.cut_all();

  EXPECT_EQ(first.ask("SELECT 17"), "lost");
  EXPECT_EQ(second.ask("SELECT 17"), "lost");
}

TEST_F(PgProxyTest, DelaysReplies) {
  const PlainClient client(address());
  EXPECT_EQ(client.ask("SELECT 17"), "17");
  proxy.delay(std::chrono::milliseconds(200));

  const Uptime before = system_clock().uptime();
  EXPECT_EQ(client.ask("SELECT 17"), "17");

  EXPECT_GE(system_clock().uptime() - before, std::chrono::milliseconds(200));
}

TEST_F(PgProxyTest, EncryptionIsDeclinedAndAServerThatIsNotThereClosesTheConnection) {
  EXPECT_TRUE(PlainClient(address() + "?sslmode=prefer").is_open());
  proxy.turn_to(1);
  EXPECT_FALSE(PlainClient(address()).is_open());
}

}  // namespace
}  // namespace perdure
