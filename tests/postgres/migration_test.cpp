// A store of an earlier version is brought to this one's by whoever opens it and may: in one
// transaction, under the feet of those who use it, with the grants that were given. Who may not is
// told who must. A newer version's functions are left alone.

#include <chrono>
#include <fmt/format.h>
#include <future>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <memory>
#include <string>

#include "crash/load.hpp"
#include "doubles/must.hpp"
#include "doubles/next_format.hpp"
#include "doubles/pg_script.hpp"
#include "doubles/postgres_cluster.hpp"
#include "doubles/postgres_wait.hpp"
#include "perdure/core/error.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "postgres/aged.hpp"
#include "postgres/proxied.hpp"
#include "store/postgres/postgres_store.hpp"
#include "store/postgres/upkeep/schema.hpp"

namespace perdure {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class Migrations : public testing::Test {
 protected:
  Migrations() : fresh((make(), definitions_in(schema.name()))) {}

  void make() const { (void)must(open_store(schema.location())); }
  [[nodiscard]] std::string noted_functions() const {
    return cluster().one(
        fmt::format("SELECT value FROM {}.meta WHERE key = 'functions'", schema.name()));
  }
  [[nodiscard]] std::string noted_format() const {
    return cluster().one(
        fmt::format("SELECT value FROM {}.meta WHERE key = 'format'", schema.name()));
  }
  void note_format(const std::string& format) const {
    cluster().execute(
        fmt::format("UPDATE {}.meta SET value = '{}' WHERE key = 'format'", schema.name(), format));
  }
  /// As a build does that knows a format more.
  [[nodiscard]] Result<std::unique_ptr<Store>> open_next(const std::string& how = "",
                                                         const OpenOptions& options = {}) const {
    return postgres::open_postgres(schema.location(how), options, next_postgres_steps);
  }
  void note_functions(const std::string& version) const {
    cluster().execute(fmt::format("UPDATE {}.meta SET value = '{}' WHERE key = 'functions'",
                                  schema.name(), version));
  }

  Proxied proxied;
  const PostgresSchema& schema = proxied.schema;
  const std::string fresh;
};

TEST_F(Migrations, FunctionsOfAnEarlierVersionAreReplacedByOpeningTheStore) {
  const std::string own = noted_functions();
  age_functions(schema.name());
  ASSERT_NE(definitions_in(schema.name()), fresh);

  const auto store = must(open_store(schema.location()));

  EXPECT_EQ(definitions_in(schema.name()), fresh);
  EXPECT_EQ(noted_functions(), own);
  const Lease lease = own_session(*store, "session");
  EXPECT_TRUE(store->commit(lease, turn_batch(lease.session, 1)).has_value());
}

TEST_F(Migrations, AStoreThatNotedNoFunctionsIsOne) {
  age_functions(schema.name());
  cluster().execute(fmt::format("DELETE FROM {}.meta WHERE key = 'functions'", schema.name()));

  make();

  EXPECT_EQ(definitions_in(schema.name()), fresh);
}

TEST_F(Migrations, TablesOfAnotherBuildBetweenReleasesAreRefusedAndLeftAlone) {
  cluster().execute(
      fmt::format("UPDATE {}.meta SET value = 'others' WHERE key = 'tables'", schema.name()));
  age_functions(schema.name());
  const std::string before = definitions_in(schema.name());

  const auto refused = open_store(schema.location());

  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::unsupported);
  EXPECT_THAT(refused.error().message, HasSubstr("unreleased build"));
  EXPECT_EQ(definitions_in(schema.name()), before);
}

TEST_F(Migrations, TakeAStoreToTheNextFormatStepByStep) {
  const auto before = must(open_store(schema.location()));
  const Lease lease = own_session(*before, "session");
  must(before->commit(lease, turn_batch(lease.session, 1)));

  const auto store = must(open_next());

  EXPECT_EQ(store->info().format, postgres::format_number + 1);
  EXPECT_EQ(cluster().one(fmt::format("SELECT id FROM {}.future", schema.name())), "session");
  EXPECT_EQ(definitions_in(schema.name()), fresh);
  EXPECT_TRUE(store->commit(lease, turn_batch(lease.session, 2)).has_value());
  EXPECT_EQ(find_wrong_turn(*store, lease.session, 2), "");
  EXPECT_TRUE(open_next().has_value()) << "when opened again";
  const auto older = open_store(schema.location());
  ASSERT_FALSE(older.has_value());
  EXPECT_EQ(older.error().code, ErrorCode::unsupported);
}

TEST_F(Migrations, ToANewFormatNeedThatTheAddressAllowsIt) {
  const auto refused = open_next("migrate=verify");

  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::unsupported);
  EXPECT_THAT(refused.error().message, AllOf(HasSubstr("needs format 5"), HasSubstr("migrate")));
  EXPECT_EQ(noted_format(), "4");
}

TEST_F(Migrations, DoNotTakeUpAFormatThatWasNeverReleased) {
  for (const char* const format : {"1", "2", "3"}) {
    note_format(format);
    const auto store = open_store(schema.location());

    ASSERT_FALSE(store.has_value());
    EXPECT_EQ(store.error().code, ErrorCode::unsupported);
    EXPECT_THAT(store.error().message,
                AllOf(HasSubstr(fmt::format("has format {},", format)), HasSubstr("export")));
    EXPECT_EQ(noted_format(), format);
  }
}

TEST_F(Migrations, SomebodyElsesFunctionsStay) {
  age_functions(schema.name());
  cluster().execute(fmt::format(
      "CREATE FUNCTION {}.mine() RETURNS text LANGUAGE sql AS $$SELECT 'mine'$$", schema.name()));

  make();

  EXPECT_EQ(cluster().one(fmt::format("SELECT {}.mine()", schema.name())), "mine");
}

// Tables and functions are changed, and `meta` is yet to say so, when the server's process is ended.
TEST_F(Migrations, ThatAreCutOffChangeNothing) {
  age_functions(schema.name());
  const std::string aged = definitions_in(schema.name());
  const std::string noted = noted_functions();
  PostgresSql reader(cluster().address());
  reader.execute(fmt::format("BEGIN; LOCK TABLE {}.meta IN SHARE MODE", schema.name()));
  auto cut_off = std::async(std::launch::async, [&] {
    return open_next("", {.write_wait = std::chrono::seconds(2)}).has_value();
  });
  wait_for_answer(cluster().address(),
                  fmt::format("SELECT bool_or(pg_terminate_backend(pid)) FROM pg_stat_activity "
                              "WHERE wait_event_type = 'Lock' AND query LIKE '%advisory%{}%'",
                              schema.name()),
                  "t");

  EXPECT_FALSE(cut_off.get());
  reader.execute("ROLLBACK");
  EXPECT_EQ(definitions_in(schema.name()), aged);
  EXPECT_EQ(noted_functions(), noted);
  EXPECT_EQ(noted_format(), "4");
  make();
  EXPECT_EQ(definitions_in(schema.name()), fresh);
}

// A newer program migrates between this one's look and its turn.
TEST_F(Migrations, LookAgainWhenItIsTheirTurn) {
  age_functions(schema.name());
  proxied.proxy.plan({.at = PgPlace::before_request, .deed = PgDeed::hold, .of = "OR REPLACE"});
  auto late =
      std::async(std::launch::async, [&] { return open_store(proxied.location()).has_value(); });
  ASSERT_TRUE(proxied.proxy.wait_for_plans());
  make();
  note_functions("99.0.0 newer");
  proxied.proxy.go_on();

  EXPECT_TRUE(late.get());
  EXPECT_EQ(noted_functions(), "99.0.0 newer");
}

TEST_F(Migrations, LeaveANewerVersionsFunctionsAlone) {
  age_functions(schema.name());
  const std::string aged = definitions_in(schema.name());
  note_functions("0.10.0 newer");

  for (const char* const how : {"migrate=auto", "migrate=verify"}) {
    const auto store = open_store(schema.location(how));
    EXPECT_TRUE(store.has_value()) << store.error().message;
  }
  EXPECT_EQ(definitions_in(schema.name()), aged);
  EXPECT_EQ(noted_functions(), "0.10.0 newer");
}

TEST_F(Migrations, DoNotDisturbAProgramThatIsConnected) {
  const auto store = must(open_store(schema.location()));
  const Lease lease = own_session(*store, "session");
  must(store->commit(lease, turn_batch(lease.session, 1)));
  note_functions("0.0.1 earlier");

  make();

  EXPECT_TRUE(store->commit(lease, turn_batch(lease.session, 2)).has_value());
  EXPECT_EQ(find_wrong_turn(*store, lease.session, 2), "");
}

TEST_F(Migrations, ThatTookAFunctionAwayAreToldToAProgramThatCallsIt) {
  const auto store = must(open_store(schema.location()));
  cluster().execute(fmt::format("DROP FUNCTION {}.sync()", schema.name()));

  const auto synced = store->sync();

  ASSERT_FALSE(synced.has_value());
  EXPECT_EQ(synced.error().code, ErrorCode::unsupported);
  EXPECT_THAT(synced.error().message, AllOf(HasSubstr("another version"), HasSubstr("restart")));
}

}  // namespace
}  // namespace perdure
