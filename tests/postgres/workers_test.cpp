// Rows of workers that will never speak again do not pile up.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <string>

#include "doubles/must.hpp"
#include "doubles/postgres_cluster.hpp"
#include "perdure/core/id.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "postgres/proxied.hpp"

namespace perdure {
namespace {

TEST(Workers, OfOtherMachinesAreForgottenAfterThirtySilentDaysIfTheyHoldNothing) {
  const PostgresSchema schema;
  const auto store = must(open_store(schema.location()));
  (void)own_session(*store, "session");
  const auto lived_until = [&](const std::string& worker, int days_ago) {
    must(store->ownership().enroll(
        {.id = WorkerId::parse(worker).value(), .host = "there", .pid = 1}));
    cluster().execute(
        fmt::format("UPDATE {}.worker SET process = 'another machine', until = until "
                    "- 86400000::bigint * {} WHERE id = '{}'",
                    schema.name(), days_ago, worker));
  };
  lived_until("silent", 31);
  lived_until("quiet", 29);
  cluster().execute(
      fmt::format("UPDATE {}.worker SET until = 0 WHERE id = 'worker of session'", schema.name()));

  must(store->ownership().enroll({.id = WorkerId::parse("new").value(), .host = "here", .pid = 1}));

  EXPECT_EQ(cluster().one(fmt::format("SELECT string_agg(id, ', ' ORDER BY id) FROM {}.worker",
                                      schema.name())),
            "new, quiet, worker of session");
}

}  // namespace
}  // namespace perdure
