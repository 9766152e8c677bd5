// Errors that come of many working at once: serialization failures, deadlocks, no connection
// left. What can be repeated is, and nobody sees it; what cannot is told in a bounded time, and is
// over when its cause is.

#include <chrono>
#include <fmt/format.h>
#include <future>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <memory>
#include <string>

#include "crash/load.hpp"
#include "doubles/must.hpp"
#include "doubles/pg_script.hpp"
#include "doubles/postgres_cluster.hpp"
#include "doubles/postgres_wait.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "postgres/load.hpp"
#include "postgres/proxied.hpp"

namespace perdure {
namespace {

using namespace std::chrono_literals;

Result<Receipt> commit_turn(Store& store, const Lease& lease, Version turn) {
  return store.commit(lease, turn_batch(lease.session, turn));
}

class Refusals : public testing::Test {
 protected:
  // The first `times` inserts into the table fail like this. A sequence does not roll back.
  void refuse(const std::string& table, const std::string& sqlstate, int times) const {
    cluster().execute(fmt::format(
        "CREATE SEQUENCE {0}.refused; "
        "CREATE FUNCTION {0}.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        "IF nextval('{0}.refused') <= {3} THEN RAISE EXCEPTION USING ERRCODE = '{2}', "
        "MESSAGE = 'refused by the test'; END IF; RETURN NEW; END $$; "
        "CREATE TRIGGER refuse BEFORE INSERT ON {0}.{1} FOR EACH ROW EXECUTE FUNCTION {0}.refuse()",
        proxied.schema.name(), table, sqlstate, times));
  }
  [[nodiscard]] std::string refused() const {
    return cluster().one(fmt::format("SELECT last_value FROM {}.refused", proxied.schema.name()));
  }

  Proxied proxied;
  std::unique_ptr<Store> store = proxied.open();
};

class PassingRefusals : public Refusals, public testing::WithParamInterface<const char*> {};

TEST_P(PassingRefusals, OfACommitAreRepeatedAndInvisible) {
  const Lease lease = own_session(*store, "session");
  refuse("receipt", GetParam(), 3);

  const auto receipt = commit_turn(*store, lease, 1);

  ASSERT_TRUE(receipt.has_value()) << receipt.error().message;
  EXPECT_EQ(refused(), "4");
  EXPECT_EQ(find_wrong_turn(*store, lease.session, 1), "");
}

TEST_P(PassingRefusals, OfAnyOtherWriteToo) {
  refuse("session", GetParam(), 3);

  const auto created = store->sessions().create({.id = SessionId::parse("session").value()});

  ASSERT_TRUE(created.has_value()) << created.error().message;
  EXPECT_EQ(refused(), "4");
}

INSTANTIATE_TEST_SUITE_P(Every, PassingRefusals,
                         testing::Values("40001", "40P01", "55P03", "57014"),
                         [](const auto& named) { return std::string(named.param); });

TEST_F(Refusals, ThatDoNotPassAreToldWhenTheTimeIsUp) {
  const auto impatient = proxied.open({.write_wait = 500ms});
  const Lease lease = own_session(*impatient, "session");
  refuse("receipt", "40001", 1'000'000);

  const Uptime before = system_clock().uptime();
  const auto receipt = commit_turn(*impatient, lease, 1);

  ASSERT_FALSE(receipt.has_value());
  EXPECT_EQ(receipt.error().code, ErrorCode::unavailable) << receipt.error().message;
  EXPECT_LT(system_clock().uptime() - before, 1min);
}

// A commit that has one row and waits for another, and somebody who takes them the other way round:
// one of the two has to give way.
TEST_F(Refusals, ADeadlockIsRepeatedAndInvisible) {
  const Lease lease = own_session(*store, "a");
  (void)own_session(*store, "b");
  const std::string& schema = proxied.schema.name();
  cluster().execute(fmt::format(
      "CREATE SEQUENCE {0}.tried; "
      "CREATE FUNCTION {0}.take_both() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
      "PERFORM nextval('{0}.tried'); PERFORM FROM {0}.session WHERE id = 'b' FOR UPDATE; "
      "RETURN NEW; END $$; CREATE TRIGGER take_both BEFORE INSERT ON {0}.receipt "
      "FOR EACH ROW EXECUTE FUNCTION {0}.take_both()",
      schema));
  PostgresSql other(cluster().address());
  // The store's process is to find out, not this one.
  other.execute(
      fmt::format("SET deadlock_timeout = '60s'; BEGIN; "
                  "SELECT FROM {}.session WHERE id = 'b' FOR UPDATE",
                  schema));
  auto committed = std::async(std::launch::async, [&] { return commit_turn(*store, lease, 1); });
  wait_for_answer(cluster().address(),
                  "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND "
                  "query LIKE '%" +
                      schema + "%commit(%'",
                  "1");
  // It has `a`: only its giving way lets this one through.
  other.execute(fmt::format("SELECT FROM {}.session WHERE id = 'a' FOR UPDATE; COMMIT", schema));

  const auto receipt = committed.get();
  ASSERT_TRUE(receipt.has_value()) << receipt.error().message;
  EXPECT_NE(cluster().one(fmt::format("SELECT last_value FROM {}.tried", schema)), "1");
  EXPECT_EQ(find_wrong_turn(*store, lease.session, 1), "");
}

// Where the server takes every transaction to be serializable, some commits are refused that harm
// nobody.
TEST(Serializable, CommitsAtOnceAreAllThereAndNobodyHearsOfARefusal) {
  const PostgresSchema schema;
  (void)must(open_store(schema.location()));
  cluster().execute(
      fmt::format("CREATE FUNCTION {0}.insist() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
                  "IF current_setting('transaction_isolation') <> 'serializable' THEN "
                  "RAISE EXCEPTION 'this is %', current_setting('transaction_isolation'); END IF; "
                  "RETURN NULL; END $$; CREATE TRIGGER insist AFTER INSERT ON {0}.receipt "
                  "EXECUTE FUNCTION {0}.insist()",
                  schema.name()));
  PgLoad load(schema.location("options=-c%20default_transaction_isolation%3Dserializable"), 6);

  EXPECT_TRUE(load.wait_for(200));

  EXPECT_THAT(load.finish(), testing::IsEmpty());
}

class Exhausted : public Refusals {
 protected:
  void hold_all(int connections) {
    for (int i = 0; i < connections; ++i) {
      proxied.proxy.plan({.at = PgPlace::after_request, .deed = PgDeed::hold});
    }
  }
};

TEST_F(Exhausted, APoolThatIsAllInUseSaysSoInTimeAndRecovers) {
  OpenOptions options;
  options.write_wait = 1s;
  const auto narrow = must(open_store(proxied.location("notify=off&pool=1"), options));
  const Lease lease = own_session(*narrow, "session");
  hold_all(1);
  auto held =
      std::async(std::launch::async, [&] { return narrow->sessions().read(lease.session); });
  ASSERT_TRUE(proxied.proxy.wait_for_plans());

  const Uptime before = system_clock().uptime();
  const auto read = narrow->sessions().read(lease.session);
  const auto took = system_clock().uptime() - before;
  proxied.proxy.go_on();

  ASSERT_FALSE(read.has_value());
  EXPECT_EQ(read.error().code, ErrorCode::unavailable);
  EXPECT_THAT(read.error().message, testing::HasSubstr("pool"));
  EXPECT_LT(took, 1min);
  (void)held.get();  // It may have run out of its own time.
  EXPECT_TRUE(narrow->sessions().read(lease.session).has_value());
}

TEST_F(Exhausted, AServerThatTakesNoMoreConnectionsIsUnavailableAndLaterThereAgain) {
  const PostgresSchema schema;
  const std::string role = "r_" + schema.name();
  cluster().execute(fmt::format(
      "CREATE ROLE {0} LOGIN CONNECTION LIMIT 0; GRANT CREATE ON DATABASE postgres TO {0}", role));
  std::string location = schema.location();
  location.replace(location.find("perdure@"), 7, role);
  OpenOptions options;
  options.write_wait = 1s;

  const Uptime before = system_clock().uptime();
  const auto refused = open_store(location, options);
  const auto took = system_clock().uptime() - before;
  cluster().execute("ALTER ROLE " + role + " CONNECTION LIMIT -1");
  const bool is_there_later = open_store(location, options).has_value();
  cluster().execute(fmt::format("DROP OWNED BY {0} CASCADE; DROP ROLE {0}", role));

  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::unavailable);
  EXPECT_THAT(refused.error().message, testing::HasSubstr("too many connections"));
  EXPECT_LT(took, 1min);
  EXPECT_TRUE(is_there_later);
}

TEST_F(Exhausted, ANetworkThatSwallowsEverythingEndsInABoundedTime) {
  OpenOptions options;
  options.write_wait = 1s;
  const auto patient = must(open_store(proxied.location(), options));
  const Lease lease = own_session(*patient, "session");

  proxied.proxy.pause();
  const Uptime before = system_clock().uptime();
  const auto receipt = commit_turn(*patient, lease, 1);
  const auto took = system_clock().uptime() - before;
  proxied.proxy.go_on();

  ASSERT_FALSE(receipt.has_value());
  EXPECT_EQ(receipt.error().code, ErrorCode::commit_unknown) << receipt.error().message;
  EXPECT_LT(took, 1min);
  const auto again = commit_turn(*patient, lease, 1);
  ASSERT_TRUE(again.has_value()) << again.error().message;
  EXPECT_EQ(find_wrong_turn(*patient, lease.session, 1), "");
}

TEST_F(Exhausted, AServerThatIsNotThereSurelyDidNothing) {
  OpenOptions options;
  options.write_wait = 500ms;
  const auto lonely = must(open_store(proxied.location(), options));
  const Lease lease = own_session(*lonely, "session");

  proxied.proxy.refuse();
  proxied.proxy.cut_all();
  const auto receipt = commit_turn(*lonely, lease, 1);
  proxied.proxy.admit();

  ASSERT_FALSE(receipt.has_value());
  EXPECT_EQ(receipt.error().code, ErrorCode::unavailable) << receipt.error().message;
  EXPECT_TRUE(commit_turn(*lonely, lease, 1).has_value());
}

}  // namespace
}  // namespace perdure
