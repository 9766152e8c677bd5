// Schemas by names that are odd and legal: a store in one is a store like any other.

#include <fmt/format.h>
#include <future>
#include <gtest/gtest.h>
#include <string>

#include "crash/load.hpp"
#include "doubles/must.hpp"
#include "doubles/postgres_cluster.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "postgres/client/connection.hpp"
#include "postgres/proxied.hpp"

namespace perdure {
namespace {

using namespace std::chrono_literals;

std::string encoded(const std::string& text) {
  std::string plain;
  for (const char letter : text) {
    plain += fmt::format("%{:02x}", static_cast<unsigned char>(letter));
  }
  return plain;
}

class SchemaNames : public testing::TestWithParam<const char*> {
 protected:
  ~SchemaNames() override {
    cluster().execute(fmt::format("DROP SCHEMA IF EXISTS {} CASCADE", postgres::quoted_name(name)));
  }

  const PostgresSchema unique;
  const std::string name = (unique.name() + GetParam()).substr(0, 63);
  const std::string location = cluster().address() + "?schema=" + encoded(name);
};

TEST_P(SchemaNames, HoldAStoreLikeAnyOther) {
  const auto store = must(open_store(location));
  const auto other = must(open_store(location + "&migrate=verify"));
  EXPECT_EQ(other->info().incarnation, store->info().incarnation);
  const auto since = must(other->change_number());
  auto waiting =
      std::async(std::launch::async, [&] { return other->wait_for_change(since, 5min); });

  const Lease lease = own_session(*store, "session");
  must(store->commit(lease, turn_batch(lease.session, 1)));

  EXPECT_GT(must(waiting.get()), since);
  EXPECT_EQ(find_wrong_turn(*other, lease.session, 1), "");
  EXPECT_TRUE(must(other->upkeep().check({})).is_sound());
  EXPECT_EQ(
      cluster().one(fmt::format("SELECT session_id FROM {}.sessions", postgres::quoted_name(name))),
      "session");
}

TEST_P(SchemaNames, HoldAStoreThatIsMigratedLikeAnyOther) {
  (void)must(open_store(location));
  const auto set = [&](const std::string& what) {
    cluster().execute(fmt::format("UPDATE {}.meta SET value = '{}' WHERE key = 'functions'",
                                  postgres::quoted_name(name), what));
  };
  set("0.0.1 earlier");

  EXPECT_TRUE(open_store(location).has_value());
}

INSTANTIATE_TEST_SUITE_P(
    Odd, SchemaNames,
    testing::Values(" With Spaces", "\"quoted\"", ".dotted.", ";semicolon--", "100%s",
                    "\u00fc\u4e2d",
                    "_as_long_as_a_name_may_be_and_so_longer_than_a_channel_with_its_prefix"));

}  // namespace
}  // namespace perdure
