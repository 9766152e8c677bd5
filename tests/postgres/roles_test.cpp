// Least privilege: one role owns the schema and makes it, another runs agents in it and can change
// no table. And the start that only looks: it refuses a store that is not as it should be, and
// says what to do.

#include <cstddef>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdexcept>
#include <string>

#include "contract/describe.hpp"
#include "crash/load.hpp"
#include "crash/script.hpp"
#include "doubles/fake_clock.hpp"
#include "doubles/must.hpp"
#include "doubles/postgres_cluster.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "postgres/aged.hpp"
#include "postgres/proxied.hpp"

namespace perdure {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class Roles : public testing::Test {
 protected:
  /// Two that change the rights on a database at once get in each other's way.
  static constexpr const char* one_at_a_time = "SELECT pg_advisory_xact_lock(7); ";

  Roles() {
    cluster().execute(
        fmt::format("{2}CREATE ROLE {0} LOGIN; CREATE ROLE {1} LOGIN; "
                    "GRANT CREATE ON DATABASE postgres TO {0}",
                    owner, runner, one_at_a_time));
  }
  ~Roles() override {
    cluster().execute(fmt::format("{2}DROP OWNED BY {0}, {1} CASCADE; DROP ROLE {0}, {1}", owner,
                                  runner, one_at_a_time));
  }
  Roles(const Roles&) = delete;
  Roles& operator=(const Roles&) = delete;

  [[nodiscard]] std::string as(const std::string& role, const std::string& options) const {
    std::string location = schema.location(options);
    return location.replace(location.find("perdure@"), 7, role);
  }
  [[nodiscard]] std::string address(const std::string& role) const {
    std::string address = cluster().address();
    return address.replace(address.find("perdure@"), 7, role);
  }
  void make() const { (void)must(open_store(as(owner, "migrate=auto"))); }
  void grant() const {
    PostgresSql(address(owner))
        .execute(fmt::format("SELECT {}.grant_to('{}')", schema.name(), runner));
  }

  const PostgresSchema schema;
  const std::string owner = "o_" + schema.name();
  const std::string runner = "r_" + schema.name();
};

TEST_F(Roles, AnotherThanTheOwnerDoesEverythingThatAgentsNeed) {
  make();
  grant();
  FakeClock clock;
  OpenOptions options;
  options.clock = &clock;

  const auto store = open_store(as(runner, "migrate=verify"), options);

  ASSERT_TRUE(store.has_value()) << store.error().message;
  const auto worker = WorkerId::parse("writer").value();
  must((*store)->ownership().enroll({.id = worker, .host = "here", .pid = 1}));
  Script script(**store, clock, worker, Load::small);
  script.run([](std::size_t, const Action& action) {
    // One of its steps is to be refused, by the ledger.
    EXPECT_EQ(action.answer.has_value(), action.name != "lost")
        << action.name << ": " << describe(action.answer);
  });
  const auto since = must((*store)->change_number());
  EXPECT_TRUE((*store)->wait_for_change(since, Duration(0)).has_value());
  const auto removed = (*store)->upkeep().vacuum({});
  EXPECT_TRUE(removed.has_value()) << removed.error().message;
}

TEST_F(Roles, TheOneThatRunsCannotChangeTables) {
  make();
  grant();
  PostgresSql sql(address(runner));

  EXPECT_THROW(sql.execute(fmt::format("CREATE TABLE {}.more (n bigint)", schema.name())),
               std::runtime_error);
  EXPECT_THROW(sql.execute(fmt::format("DROP TABLE {}.entry", schema.name())), std::runtime_error);
  EXPECT_THROW(sql.execute(fmt::format("ALTER TABLE {}.entry ADD COLUMN n bigint", schema.name())),
               std::runtime_error);
  EXPECT_THROW(sql.execute(fmt::format("TRUNCATE {}.entry", schema.name())), std::runtime_error);
}

TEST_F(Roles, OneWithoutTheGrantIsToldSo) {
  make();

  const auto store = open_store(as(runner, "migrate=verify"));

  ASSERT_FALSE(store.has_value());
  EXPECT_EQ(store.error().code, ErrorCode::unavailable);
  EXPECT_EQ(store.error().subject, "authority");
  EXPECT_THAT(store.error().message, HasSubstr("grant"));
}

TEST_F(Roles, AStartThatOnlyLooksRefusesASchemaThatIsNotThere) {
  const auto store = open_store(as(owner, "migrate=verify"));

  ASSERT_FALSE(store.has_value());
  EXPECT_EQ(store.error().code, ErrorCode::not_found);
  EXPECT_THAT(store.error().message, AllOf(HasSubstr(schema.name()), HasSubstr("migrate=auto")));
  EXPECT_EQ(cluster().one(fmt::format("SELECT to_regnamespace('{}') IS NULL", schema.name())), "t");
}

TEST_F(Roles, AStartThatOnlyLooksRefusesFunctionsOfAnotherVersion) {
  make();
  grant();
  age_functions(schema.name());
  const std::string aged = definitions_in(schema.name());

  const auto store = open_store(as(owner, "migrate=verify"));

  ASSERT_FALSE(store.has_value());
  EXPECT_EQ(store.error().code, ErrorCode::unsupported);
  EXPECT_THAT(store.error().message,
              AllOf(HasSubstr("0.0.1"), HasSubstr("migrate=auto"), HasSubstr("owns the schema")));
  EXPECT_EQ(definitions_in(schema.name()), aged);
}

TEST_F(Roles, OneThatMayNotMigrateIsToldWhoMay) {
  make();
  grant();
  age_functions(schema.name());

  const auto store = open_store(as(runner, "migrate=auto"));

  ASSERT_FALSE(store.has_value());
  EXPECT_EQ(store.error().code, ErrorCode::unsupported);
  EXPECT_THAT(store.error().message, AllOf(HasSubstr("may not"), HasSubstr("owns the schema")));
}

TEST_F(Roles, TheOneThatRunsGoesOnAfterAMigration) {
  make();
  grant();
  // As strict as it can be: only who was granted it runs a function.
  const auto revoke =
      fmt::format("REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA {} FROM PUBLIC", schema.name());
  age_functions(schema.name());
  cluster().execute(revoke);
  (void)must(open_store(as(owner, "migrate=auto")));
  cluster().execute(revoke);

  const auto store = open_store(as(runner, "migrate=verify"));

  ASSERT_TRUE(store.has_value()) << store.error().message;
  const Lease lease = own_session(**store, "session");
  EXPECT_TRUE((*store)->commit(lease, turn_batch(lease.session, 1)).has_value());
}

TEST_F(Roles, WhatASuperuserMigratesStaysTheOwners) {
  make();
  age_functions(schema.name());
  cluster().execute(
      fmt::format("ALTER FUNCTION {0}.release(text, text, bigint) OWNER TO {1}; "
                  "ALTER FUNCTION {0}.set_sync(text) OWNER TO {1}; "
                  "ALTER VIEW {0}.entries OWNER TO {1}",
                  schema.name(), owner));

  (void)must(open_store(schema.location()));

  EXPECT_EQ(cluster().one(fmt::format("SELECT string_agg(DISTINCT pg_get_userbyid(proowner), ' ') "
                                      "FROM pg_proc WHERE pronamespace = '{}'::regnamespace",
                                      schema.name())),
            owner);
}

TEST_F(Roles, ANewerSchemaIsRefusedHoweverOneStarts) {
  make();
  grant();
  cluster().execute(
      fmt::format("UPDATE {}.meta SET value = '999' WHERE key = 'format'", schema.name()));

  for (const char* const how : {"migrate=verify", "migrate=auto"}) {
    const auto store = open_store(as(owner, how));
    ASSERT_FALSE(store.has_value()) << how;
    EXPECT_EQ(store.error().code, ErrorCode::unsupported) << store.error().message;
  }
}

TEST_F(Roles, NothingIsMadeWhereCreateIsOff) {
  const auto store = open_store(as(owner, "migrate=auto"), {.create = false});

  ASSERT_FALSE(store.has_value());
  EXPECT_EQ(store.error().code, ErrorCode::not_found);
  EXPECT_EQ(cluster().one(fmt::format("SELECT to_regnamespace('{}') IS NULL", schema.name())), "t");
}

}  // namespace
}  // namespace perdure
