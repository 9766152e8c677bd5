// One connection, to a real server, and to none.

#include "postgres/client/connection.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <future>
#include <gtest/gtest.h>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "doubles/postgres_cluster.hpp"
#include "doubles/postgres_wait.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/time.hpp"
#include "postgres/client/address.hpp"
#include "postgres/client/error.hpp"
#include "postgres/client/params.hpp"

namespace perdure::postgres {
namespace {

constexpr Duration long_enough = std::chrono::minutes(5);

class ConnectionTest : public testing::Test {
 protected:
  void SetUp() override {
    connection.execute("CREATE SCHEMA " + schema.name());
    connection.execute("CREATE TABLE perdure.t (n bigint PRIMARY KEY, body text)");
  }
  [[nodiscard]] std::int64_t rows_there() {
    Rows rows = other.query("SELECT count(*) FROM perdure.t");
    rows.next();
    return rows.integer(0);
  }
  /// What it throws.
  template <class Work>
  [[nodiscard]] static std::optional<PgError> thrown(Work work) {
    try {
      work();
    } catch (const PgError& error) {
      return error;
    }
    return std::nullopt;
  }
  [[nodiscard]] std::vector<Answer> insert(const std::vector<std::int64_t>& numbers) {
    std::vector<Params> params;
    params.reserve(numbers.size());
    for (const std::int64_t number : numbers) params.push_back(Params::of(number));
    std::vector<Statement> statements;
    statements.reserve(numbers.size());
    for (const Params& one : params) statements.push_back({insert_sql, &one});
    return connection.pipeline(statements);
  }
  void end_backend() const {
    cluster().execute("SELECT pg_terminate_backend(" + std::to_string(connection.server_process()) +
                      ", 10000)");
  }

  static constexpr std::string_view insert_sql = "INSERT INTO perdure.t VALUES ($1) RETURNING n";
  PostgresSchema schema;
  Address address = parse_address(schema.location()).value();
  Counters counters;
  Connection connection{address, Deadline(long_enough), counters};
  Connection other{address, Deadline(long_enough), counters};
};

TEST_F(ConnectionTest, NamesAreInTheStoresSchema) {
  connection.query(insert_sql, Params::of(1));
  EXPECT_EQ(cluster().one("SELECT count(*) FROM " + schema.name() + ".t"), "1");
}

TEST_F(ConnectionTest, APipelineIsOneRoundTripAndOneTransaction) {
  const auto before = counters.round_trips.load();
  const auto answers = insert({1, 2, 3});
  EXPECT_EQ(counters.round_trips - before, 1U);
  ASSERT_EQ(answers.size(), 3U);
  for (const Answer& answer : answers) EXPECT_TRUE(std::holds_alternative<Rows>(answer));
  EXPECT_EQ(rows_there(), 3);
  const Rows ids = other.query("SELECT DISTINCT xmin::text FROM perdure.t");
  EXPECT_EQ(ids.count(), 1U);
}

TEST_F(ConnectionTest, AStatementIsPreparedOnce) {
  (void)insert({1, 2});
  (void)insert({3});
  Rows rows = connection.query(
      "SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE 'INSERT%'");
  rows.next();
  EXPECT_EQ(rows.integer(0), 1);
}

TEST_F(ConnectionTest, OtherTypesForAKnownStatementAreSentAsSuch) {
  constexpr std::string_view sql = "SELECT pg_typeof($1)::text";
  (void)connection.query(sql, Params::of(1));
  Rows rows = connection.query(sql, Params::of("x"));
  rows.next();
  EXPECT_EQ(rows.text(0), "text");
}

TEST_F(ConnectionTest, OneFailureUndoesThePipeline) {
  const auto answers = insert({1, 2, 1, 3});
  ASSERT_EQ(answers.size(), 4U);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    ASSERT_TRUE(std::holds_alternative<PgError>(answers[i]));
    EXPECT_EQ(std::get<PgError>(answers[i]).is_undone(), i != 2) << i;
  }
  EXPECT_EQ(std::get<PgError>(answers[2]).sqlstate(), "23505");
  EXPECT_EQ(rows_there(), 0);
  (void)insert({1});
  EXPECT_EQ(rows_there(), 1);
}

TEST_F(ConnectionTest, AFailureAtTheEndOfTheTransactionIsAFailure) {
  connection.execute(
      "CREATE TABLE perdure.late (n bigint REFERENCES perdure.t DEFERRABLE INITIALLY DEFERRED)");
  const auto error = thrown([&] { connection.query("INSERT INTO perdure.late VALUES (7)"); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->sqlstate(), "23503");
  EXPECT_FALSE(error->may_have_happened());
  const Rows rows = connection.query("SELECT 1 FROM perdure.late");
  EXPECT_EQ(rows.count(), 0U);
}

TEST_F(ConnectionTest, AStatementThatCannotBePreparedFailsAndTheNextOneGoesOn) {
  EXPECT_EQ(thrown([&] { connection.query("SELECT nonsense"); })->sqlstate(), "42703");
  EXPECT_EQ(thrown([&] { connection.query("SELECT nonsense"); })->sqlstate(), "42703");
  EXPECT_EQ(connection.query("SELECT 1").count(), 1U);
}

TEST_F(ConnectionTest, WhatOurFunctionsRaiseIsAnError) {
  connection.execute(
      "CREATE FUNCTION perdure.no() RETURNS void LANGUAGE plpgsql AS $$BEGIN RAISE EXCEPTION "
      "USING ERRCODE = 'PD003', MESSAGE = 'the head moved', DETAIL = 'ses_1'; END$$");
  const auto error = thrown([&] { connection.query("SELECT perdure.no()"); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->to_error(), (Error{ErrorCode::conflict, "the head moved", "ses_1"}));
  EXPECT_TRUE(error->is_answer());
}

TEST_F(ConnectionTest, AScriptIsOneTransaction) {
  EXPECT_TRUE(thrown([&] {
    connection.execute("INSERT INTO perdure.t VALUES (1); INSERT INTO perdure.t VALUES (1)");
  }));
  EXPECT_EQ(rows_there(), 0);
  connection.execute("INSERT INTO perdure.t VALUES (1); INSERT INTO perdure.t VALUES (2)");
  EXPECT_EQ(rows_there(), 2);
  EXPECT_EQ(connection.query("SELECT 1").count(), 1U);
}

// More than both sockets hold, both ways at once, and more back than there.
TEST_F(ConnectionTest, LargePipelinesDoNotStopBothSides) {
  const std::string body(1 << 20, 'x');
  const Params params = Params::of(body);
  const std::vector<Statement> statements(24, {"SELECT $1 || $1 || $1", &params});
  connection.set_patience(std::chrono::minutes(5));
  const auto answers = connection.pipeline(statements);
  ASSERT_EQ(answers.size(), statements.size());
  for (const Answer& answer : answers) EXPECT_TRUE(std::holds_alternative<Rows>(answer));
}

TEST_F(ConnectionTest, WhoMovedMuchIsSwollen) {
  const std::string body(std::size_t{40} << 20, 'x');
  EXPECT_FALSE(connection.is_swollen());
  Rows rows = connection.query("SELECT length($1)::bigint", Params::of(body));
  rows.next();
  EXPECT_EQ(rows.number(0), body.size());
  EXPECT_TRUE(connection.is_swollen());
}

TEST_F(ConnectionTest, AnEndedBackendIsLostAndNotAlive) {
  EXPECT_TRUE(connection.is_alive());
  end_backend();
  EXPECT_FALSE(connection.is_alive());
  const auto error = thrown([&] { connection.query("SELECT 1"); });
  ASSERT_TRUE(error);
  EXPECT_TRUE(error->is_lost());
  EXPECT_TRUE(error->may_be_repeated());
  EXPECT_FALSE(error->may_have_happened());
}

TEST_F(ConnectionTest, AStatementUnderWayWhenTheBackendEndsMayHaveHappened) {
  other.query("SELECT pg_advisory_lock(471)");
  connection.query("SET lock_timeout = 0");
  auto error = std::async(std::launch::async, [&] {
    return thrown([&] { connection.query("SELECT pg_advisory_lock(471)"); });
  });
  while (cluster().one("SELECT count(*) FROM pg_locks WHERE objid = 471 AND NOT granted") != "1") {
  }
  end_backend();
  const auto lost = error.get();
  ASSERT_TRUE(lost);
  EXPECT_TRUE(lost->is_lost());
  EXPECT_TRUE(lost->may_have_happened());
  EXPECT_FALSE(connection.is_usable());
}

TEST_F(ConnectionTest, SilenceIsNotWaitedForLongerThanThePatience) {
  other.query("SELECT pg_advisory_lock(472)");
  connection.query("SET lock_timeout = 0");
  connection.set_patience(std::chrono::milliseconds(50));
  const auto error = thrown([&] { connection.query("SELECT pg_advisory_lock(472)"); });
  ASSERT_TRUE(error);
  EXPECT_TRUE(error->is_lost());
  EXPECT_TRUE(error->may_have_happened());
  EXPECT_FALSE(connection.is_usable());
}

// The sync that would commit it is behind all of it.
TEST_F(ConnectionTest, APipelineThatNeverLeftCompletelyDidNotHappen) {
  other.query("SELECT pg_advisory_lock(475)");
  connection.query("SET lock_timeout = 0");
  connection.set_patience(std::chrono::milliseconds(50));
  const Params none;
  const std::string more_than_sockets_hold(std::size_t{30} << 20, 'x');
  const Params much = Params::of(more_than_sockets_hold);
  const std::vector<Statement> statements = {{"SELECT pg_advisory_lock(475)", &none},
                                             {"SELECT length($1)", &much}};
  const auto error = thrown([&] { (void)connection.pipeline(statements); });
  ASSERT_TRUE(error);
  EXPECT_TRUE(error->is_lost());
  EXPECT_FALSE(error->may_have_happened());
}

// Or its locks would be in the way of the repetition.
TEST_F(ConnectionTest, AStatementNobodyWaitsForEndsByItself) {
  other.query("SELECT pg_advisory_lock(473)");
  {
    Connection left(address, Deadline(long_enough), counters);
    left.query("SET lock_timeout = 0");
    left.set_patience(std::chrono::milliseconds(50));
    EXPECT_TRUE(thrown([&] { left.query("SELECT pg_advisory_lock(473)"); }));
  }
  wait_for_answer(cluster().address(), "SELECT count(*) FROM pg_locks WHERE objid = 473", "1");
}

TEST_F(ConnectionTest, AWaitForALockIsRefusedAfterAWhile) {
  address.lock_wait = Duration(20);
  Connection waiting(address, Deadline(long_enough), counters);
  other.query("SELECT pg_advisory_lock(474)");
  const auto error = thrown([&] { waiting.query("SELECT pg_advisory_lock(474)"); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->sqlstate(), "55P03");
  EXPECT_TRUE(error->may_be_repeated());
  EXPECT_FALSE(error->may_have_happened());
}

TEST_F(ConnectionTest, HearsOfNotifications) {
  connection.query("LISTEN perdure_test");
  EXPECT_FALSE(connection.wait_for_notification(Duration(0)));
  other.query("NOTIFY perdure_test");
  EXPECT_TRUE(connection.wait_for_notification(long_enough));
  EXPECT_FALSE(connection.wait_for_notification(Duration(0)));
}

TEST_F(ConnectionTest, IsNotPooledWithoutAPooler) { EXPECT_FALSE(connection.is_pooled()); }

TEST_F(ConnectionTest, ADatabaseOfAnotherEncodingIsUnsupported) {
  const std::string name = schema.name() + "_latin";
  cluster().execute("CREATE DATABASE " + name + " ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0");
  std::string location = cluster().address();
  location.replace(location.rfind('/') + 1, std::string::npos, name);
  const auto error = thrown([&] {
    const Connection latin(parse_address(location).value(), Deadline(long_enough), counters);
  });
  cluster().execute("DROP DATABASE " + name + " WITH (FORCE)");
  ASSERT_TRUE(error);
  EXPECT_EQ(error->to_error().code, ErrorCode::unsupported);
  EXPECT_FALSE(error->may_be_repeated());
}

TEST_F(ConnectionTest, ARoleThatOnlyReadsIsAway) {
  const auto error = thrown([&] {
    const Connection reader(
        parse_address(schema.location("options=-c%20default_transaction_read_only%3Don")).value(),
        Deadline(long_enough), counters);
  });
  ASSERT_TRUE(error);
  EXPECT_TRUE(error->is_away());
}

TEST_F(ConnectionTest, AMissingDatabaseIsNotWaitedFor) {
  std::string location = cluster().address();
  location.replace(location.rfind('/') + 1, std::string::npos, "no_such_database");
  const auto error = thrown([&] {
    const Connection nowhere(parse_address(location).value(), Deadline(long_enough), counters);
  });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->sqlstate(), "3D000");
  EXPECT_FALSE(error->may_be_repeated());
  EXPECT_NE(std::string(error->what()).find("no_such_database"), std::string::npos);
}

}  // namespace
}  // namespace perdure::postgres
