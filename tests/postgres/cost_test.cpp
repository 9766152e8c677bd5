// What a commit costs, counted: one round trip, the same statements however long the history, and
// never a transaction that waits for its client.

#include <atomic>
#include <cstdint>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "crash/load.hpp"
#include "doubles/must.hpp"
#include "doubles/pg_script.hpp"
#include "doubles/postgres_cluster.hpp"
#include "doubles/postgres_server.hpp"
#include "perdure/core/id.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "postgres/proxied.hpp"
#include "store/api/lookup.hpp"

namespace perdure {
namespace {

// Told off the way of a commit, and for many at once.
constexpr const char* telling = ".tell(";

void commit_turns(Store& store, const Lease& lease, Version first, Version last) {
  for (Version turn = first; turn <= last; ++turn) {
    must(store.commit(lease, turn_batch(lease.session, turn)));
  }
}

TEST(Cost, ACommitIsOneRoundTripAndOneStatement) {
  Proxied proxied;
  proxied.proxy.ignore(telling);
  // One connection: a second one would be told every text anew.
  const auto store = must(open_store(proxied.location("notify=off&pool=1")));
  const Lease lease = own_session(*store, "session");
  commit_turns(*store, lease, 1, 5);
  const PgCounts before = proxied.proxy.counts();

  commit_turns(*store, lease, 6, 105);

  const PgCounts after = proxied.proxy.counts();
  EXPECT_EQ(after.round_trips - before.round_trips, 100U);
  EXPECT_EQ(after.exchanges - before.exchanges, 100U);
  EXPECT_EQ(after.statements - before.statements, 100U);
  EXPECT_EQ(after.parses, before.parses) << "a text was sent again";
  EXPECT_EQ(after.connections, before.connections);
}

TEST(Cost, OfMostOtherWritesIsOneRoundTripToo) {
  Proxied proxied;
  proxied.proxy.ignore(telling);
  // One connection: a second one would be told every text anew.
  const auto store = must(open_store(proxied.location("notify=off&pool=1")));
  const Lease lease = own_session(*store, "session");
  const auto cost = [&](const auto& write) {
    write();
    const std::uint64_t before = proxied.proxy.counts().round_trips;
    write();
    return proxied.proxy.counts().round_trips - before;
  };
  int posted = 0;

  EXPECT_EQ(cost([&] { must(store->ownership().renew(lease.worker)); }), 1U);
  EXPECT_EQ(cost([&] { must(store->ownership().acquire(lease.session, lease.worker)); }), 1U);
  EXPECT_EQ(
      cost([&] {
        must(store->inbox().post({.session = lease.session,
                                  .id = MessageId::parse(fmt::format("m{}", ++posted)).value(),
                                  .kind = "user",
                                  .body = Body::from_text("{}")}));
      }),
      1U);
  EXPECT_EQ(cost([&] { must(store->sessions().read(lease.session)); }), 1U);
  EXPECT_EQ(cost([&] { must(store->log().read(lease.session, {})); }), 1U);
  EXPECT_EQ(cost([&] { must(store->inbox().list(lease.session, 10)); }), 1U);
  EXPECT_EQ(cost([&] { must(store->sessions().due(10)); }), 1U);
}

// Inside the server too: what pg_stat_statements counts, statements of functions included.
TEST(Cost, TheStatementsOfACommitDoNotGrowWithTheHistory) {
  PostgresServer server({"shared_preload_libraries=pg_stat_statements", "fsync=off",
                         "pg_stat_statements.track=all", "pg_stat_statements.max=10000"});
  server.start();
  PostgresSql sql(server.address());
  sql.execute("CREATE EXTENSION pg_stat_statements");
  const auto store = must(open_store(server.address() + "?notify=off&pool=1"));
  const Lease lease = own_session(*store, "session");
  struct Spent {
    std::string statements;
    std::uint64_t blocks;
  };
  const auto spent_on = [&](Version turn) -> Spent {
    (void)sql.one("SELECT pg_stat_statements_reset()");
    commit_turns(*store, lease, turn, turn);
    const std::string of =
        " FROM pg_stat_statements WHERE query NOT LIKE '%pg_stat_statements%' AND query NOT LIKE "
        "'%tell(%' AND query NOT LIKE '%told%'";
    return {sql.one("SELECT sum(calls)" + of),
            std::stoull(sql.one("SELECT sum(shared_blks_hit + shared_blks_read)" + of))};
  };
  commit_turns(*store, lease, 1, 5);
  const Spent early = spent_on(6);
  commit_turns(*store, lease, 7, 499);

  const Spent late = spent_on(500);

  EXPECT_EQ(late.statements, early.statements);
  // Trees have grown by a level or two, and pages are split now and then.
  EXPECT_LE(late.blocks, early.blocks + early.blocks / 2 + 40);
}

/// Looks for it again and again while something else works.
class TransactionWatch {
 public:
  explicit TransactionWatch(std::string application)
      : thread_([this, application = std::move(application)](const std::stop_token& stop) {
          PostgresSql sql(cluster().address());
          const std::string question = fmt::format(
              "SELECT count(*) FROM pg_stat_activity WHERE application_name = '{}' AND state LIKE "
              "'idle in transaction%'",
              application);
          while (!stop.stop_requested()) {
            if (sql.one(question) != "0") ++seen_;
            ++looks_;
          }
        }) {}

  [[nodiscard]] int looks() const { return looks_; }
  [[nodiscard]] int seen() const { return seen_; }

 private:
  std::atomic<int> looks_ = 0;
  std::atomic<int> seen_ = 0;
  std::jthread thread_;
};

TEST(Cost, NobodyIsEverIdleInATransaction) {
  const PostgresSchema schema;
  const std::string application = "app_" + schema.name();
  const auto store = must(open_store(schema.location("application_name=" + application)));
  const TransactionWatch watch(application);
  std::vector<std::jthread> threads;
  threads.reserve(4);
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      const Lease lease = own_session(*store, fmt::format("session {}", i));
      for (Version turn = 1; turn <= 60; ++turn) {
        commit_turns(*store, lease, turn, turn);
        must(store->ownership().renew(lease.worker));
        must(store->log().read(lease.session, {}));
        must(store->blobs().put(fmt::format("blob {} {}", i, turn)));
      }
      must(store->ownership().release(lease));
    });
  }
  threads.clear();

  EXPECT_GT(watch.looks(), 20);
  EXPECT_EQ(watch.seen(), 0);
}

}  // namespace
}  // namespace perdure
