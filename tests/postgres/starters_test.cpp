// Ten who start at the same moment, where there is no schema yet, or one of an earlier version: one of
// them makes or migrates it, all of them have a store, and it is the same one.

#include <barrier>
#include <chrono>
#include <fmt/format.h>
#include <future>
#include <gtest/gtest.h>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "doubles/pg_script.hpp"
#include "doubles/postgres_cluster.hpp"
#include "perdure/core/error.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "postgres/aged.hpp"
#include "postgres/proxied.hpp"

namespace perdure {
namespace {

constexpr int starters = 10;

std::vector<Result<std::unique_ptr<Store>>> start_all(const std::string& location) {
  std::barrier together(starters);
  std::vector<std::future<Result<std::unique_ptr<Store>>>> starting;
  starting.reserve(starters);
  for (int i = 0; i < starters; ++i) {
    starting.push_back(std::async(std::launch::async, [&] {
      together.arrive_and_wait();
      return open_store(location);
    }));
  }
  std::vector<Result<std::unique_ptr<Store>>> started;
  started.reserve(starters);
  for (auto& each : starting) started.push_back(each.get());
  return started;
}

void expect_one_store(const std::vector<Result<std::unique_ptr<Store>>>& started) {
  std::set<std::string> incarnations;
  for (const auto& store : started) {
    ASSERT_TRUE(store.has_value()) << store.error().message;
    incarnations.insert((*store)->info().incarnation);
  }
  EXPECT_EQ(incarnations.size(), 1U);
  const Lease lease = own_session(*started.front().value(), "session");
  for (const auto& store : started) {
    EXPECT_TRUE((*store)->sessions().read(lease.session).has_value());
  }
}

TEST(Starters, TenAtOnceMakeOneStore) {
  const Proxied proxied;

  const auto started = start_all(proxied.location());

  expect_one_store(started);
  EXPECT_EQ(cluster().one("SELECT count(*) FROM " + proxied.schema.name() +
                          ".meta WHERE key IN ('format', 'incarnation')"),
            "2");
}

TEST(Starters, TenAtOnceMakeOneStoreInASchemaThatSomebodyElseMade) {
  const Proxied proxied;
  cluster().execute("CREATE SCHEMA " + proxied.schema.name());

  expect_one_store(start_all(proxied.location()));
}

TEST(Starters, TenAtOnceMigrateAnOlderStore) {
  const Proxied proxied;
  (void)proxied.open();
  const std::string fresh = definitions_in(proxied.schema.name());
  age_functions(proxied.schema.name());

  expect_one_store(start_all(proxied.location()));
  EXPECT_EQ(definitions_in(proxied.schema.name()), fresh);
}

// The first was killed in the middle of it: nothing is half made.
TEST(Starters, AMigrationThatIsCutOffLeavesNothing) {
  Proxied proxied;
  proxied.proxy.plan({.at = PgPlace::before_sync, .deed = PgDeed::hold, .of = "CREATE TABLE"});
  auto cut_off = std::async(std::launch::async, [&] {
    return open_store(proxied.location(), {.write_wait = std::chrono::milliseconds(200)});
  });
  ASSERT_TRUE(proxied.proxy.wait_for_plans());
  proxied.proxy.refuse();
  cluster().execute(
      fmt::format("SELECT pg_terminate_backend({})", proxied.proxy.held_backend().value()));
  proxied.proxy.go_on();

  EXPECT_FALSE(cut_off.get().has_value());
  EXPECT_EQ(cluster().one(fmt::format("SELECT count(*) FROM pg_class WHERE relnamespace = "
                                      "to_regnamespace('{}')",
                                      proxied.schema.name())),
            "0");
  proxied.proxy.admit();
  expect_one_store(start_all(proxied.location()));
}

}  // namespace
}  // namespace perdure
