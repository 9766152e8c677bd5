// Group commit against a real server. A first commit is held on its way; whoever comes meanwhile
// becomes one group.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <future>
#include <gtest/gtest.h>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "doubles/pg_proxy.hpp"
#include "doubles/pg_script.hpp"
#include "doubles/postgres_cluster.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/sessions.hpp"
#include "postgres/client/address.hpp"
#include "postgres/client/client.hpp"
#include "postgres/client/connection.hpp"
#include "postgres/client/params.hpp"
#include "postgres/upkeep/schema.hpp"

namespace perdure::postgres {
namespace {

constexpr Duration committer_wait = std::chrono::minutes(5);

/// Of a batch that the server answers with its name, which must outlive this.
Commission commission_to(const std::string& batch, const std::string& body = {}) {
  const Params row = Params::of(batch, body);
  return {.session = batch, .batch = array_of_records({&row, 1})};
}

/// The store's own, in this schema.
std::string commit_each(const std::string& schema) {
  const std::string_view all = own_scripts().functions;
  const std::size_t begin = all.find("CREATE FUNCTION perdure.commit_each(");
  return in_schema(all.substr(begin, all.find("END $$;", begin) + 7 - begin), schema);
}

std::uint16_t cluster_port() {
  return static_cast<std::uint16_t>(std::stoi(cluster().one("SHOW port")));
}

class CommitterTest : public testing::Test {
 protected:
  using Outcome = std::future<Result<std::string>>;

  // `seen` tells where a batch that is refused found another one before it.
  CommitterTest() {
    cluster().execute(fmt::format(
        "CREATE SCHEMA {0}; CREATE SEQUENCE {0}.sent;"
        "CREATE TABLE {0}.did (batch text PRIMARY KEY, later boolean, tx bigint, nth bigint);"
        "CREATE TYPE {0}.new_batch AS (batch text, body text);"
        "CREATE FUNCTION {0}.commit(p_sync boolean, p_examine bigint[], p_batches {0}.new_batch[]) "
        "RETURNS bytea[] LANGUAGE plpgsql AS $$DECLARE b {0}.new_batch; v bytea[]; BEGIN "
        "FOREACH b IN ARRAY p_batches LOOP "
        "IF b.batch LIKE '%bad%' THEN RAISE EXCEPTION USING ERRCODE = 'PD003', MESSAGE = b.batch, "
        "DETAIL = 'why'; END IF; "
        "INSERT INTO {0}.did VALUES (b.batch, NOT p_sync, txid_current(), nextval('{0}.sent')) "
        "ON CONFLICT DO NOTHING; v := v || ('\\x00' || convert_to(b.batch, 'UTF8')); "
        "END LOOP; RETURN v; END$$;",
        schema.name()));
    cluster().execute(commit_each(schema.name()));
  }
  ~CommitterTest() override { proxy.go_on(); }

  [[nodiscard]] std::string ask(const std::string& what) const {
    return cluster().one(fmt::format("SELECT {} FROM {}.did", what, schema.name()));
  }
  Result<std::string> commit(const std::string& batch, Sync sync = Sync::now,
                             const std::string& body = {}) {
    return committer.commit(commission_to(batch, body), sync);
  }
  /// Begins a commit in a thread of its own, and waits until it is queued.
  Outcome begin(const std::string& batch, Sync sync = Sync::now, const std::string& body = {}) {
    const std::size_t before = committer.waiting();
    auto outcome = std::async(std::launch::async, [=, this] { return commit(batch, sync, body); });
    while (committer.waiting() == before) std::this_thread::yield();
    return outcome;
  }
  /// A commit that is on its way and stays there until `proxy.go_on()`.
  Outcome hold_one() {
    proxy.plan({.at = PgPlace::before_request, .deed = PgDeed::hold, .of = "commit("});
    auto outcome = std::async(std::launch::async, [this] { return commit("held"); });
    EXPECT_TRUE(proxy.wait_for_plans());
    return outcome;
  }

  PostgresSchema schema;
  PgProxy proxy{cluster_port()};
  Counters counters;
  Pool pool{parse_address(fmt::format("postgres://perdure@127.0.0.1:{}/postgres?schema={}",
                                      proxy.port(), schema.name()))
                .value(),
            counters};
  Committer committer{pool, committer_wait, 1};
};

TEST_F(CommitterTest, ALoneCommitIsOneRoundTrip) {
  ASSERT_TRUE(commit("a"));
  const auto before = proxy.counts();
  ASSERT_TRUE(commit("b"));
  EXPECT_EQ(proxy.counts().round_trips - before.round_trips, 1U);
  EXPECT_EQ(proxy.counts().exchanges - before.exchanges, 1U);
  EXPECT_EQ(proxy.counts().statements - before.statements, 1U);
  EXPECT_EQ(committer.transactions(), 2U);
}

TEST_F(CommitterTest, WhoWaitsSharesOneTransactionInTheOrderOfSessions) {
  auto held = hold_one();
  std::vector<Outcome> others;
  for (const auto* batch : {"c", "a", "d", "b"}) others.push_back(begin(batch));
  const auto before = counters.round_trips.load();
  proxy.go_on();
  EXPECT_TRUE(held.get());
  for (Outcome& one : others) EXPECT_TRUE(one.get());
  EXPECT_EQ(counters.round_trips - before, 1U);
  EXPECT_EQ(committer.transactions(), 2U);
  EXPECT_EQ(ask("count(DISTINCT tx)"), "2");
  EXPECT_EQ(ask("string_agg(batch, ' ' ORDER BY nth)"), "held a b c d");
}

TEST_F(CommitterTest, ARefusedOneDoesNotTakeOthersWithIt) {
  auto held = hold_one();
  auto first = begin("a");
  auto bad = begin("bad");
  auto last = begin("z");
  proxy.go_on();
  EXPECT_TRUE(held.get());
  EXPECT_TRUE(first.get());
  EXPECT_TRUE(last.get());
  const auto refused = bad.get();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::conflict);
  EXPECT_EQ(refused.error().message, "bad");
  EXPECT_EQ(refused.error().subject, "why");
  EXPECT_EQ(ask("count(*)"), "3");
  EXPECT_EQ(ask("count(DISTINCT tx)"), "2");
}

TEST_F(CommitterTest, ManyRefusedOnesDoNotEither) {
  auto held = hold_one();
  std::vector<Outcome> good;
  std::vector<Outcome> bad;
  for (int i = 0; i < 8; ++i) {
    good.push_back(begin(fmt::format("good{}", i)));
    bad.push_back(begin(fmt::format("bad{}", i)));
  }
  proxy.go_on();
  EXPECT_TRUE(held.get());
  for (Outcome& one : good) EXPECT_TRUE(one.get());
  for (std::size_t i = 0; i < bad.size(); ++i) {
    const auto refused = bad[i].get();
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message, fmt::format("bad{}", i));
  }
  EXPECT_EQ(ask("count(*)"), "9");
}

TEST_F(CommitterTest, EachHasItsOwnAnswer) {
  auto held = hold_one();
  auto third = begin("c");
  auto first = begin("a");
  auto second = begin("b");
  proxy.go_on();
  EXPECT_EQ(held.get().value().substr(1), "held");
  EXPECT_EQ(first.get().value().substr(1), "a");
  EXPECT_EQ(second.get().value().substr(1), "b");
  EXPECT_EQ(third.get().value().substr(1), "c");
}

TEST_F(CommitterTest, TwoOfOneSessionAreNotInOneGroup) {
  auto held = hold_one();
  auto first = begin("a");
  auto second = begin("a");
  auto other = begin("b");
  proxy.go_on();
  EXPECT_TRUE(held.get());
  EXPECT_TRUE(first.get());
  EXPECT_TRUE(second.get());
  EXPECT_TRUE(other.get());
  EXPECT_EQ(committer.transactions(), 3U);
}

TEST_F(CommitterTest, ASecondGroupOfEnoughSetsOutBeforeTheFirstIsAnswered) {
  Committer both(pool, committer_wait);
  proxy.plan({.at = PgPlace::before_request, .deed = PgDeed::hold, .of = "commit("});
  auto held =
      std::async(std::launch::async, [&] { return both.commit(commission_to("held"), Sync::now); });
  EXPECT_TRUE(proxy.wait_for_plans());
  const std::vector<std::string> names{"a", "b", "c", "d", "e", "f", "g", "h"};
  std::vector<Outcome> others;
  others.reserve(names.size());
  for (const std::string& name : names) {
    others.push_back(std::async(std::launch::async, [&both, &name] {
      return both.commit(commission_to(name), Sync::now);
    }));
  }
  for (Outcome& one : others) EXPECT_TRUE(one.get());
  EXPECT_EQ(both.transactions(), 1U);
  proxy.go_on();
  EXPECT_TRUE(held.get());
}

TEST_F(CommitterTest, AGroupWhoseConnectionIsCutHappensOnceWhereverThatIs) {
  int n = 0;
  for (const PgPlace place : every_pg_place) {
    auto held = hold_one();
    std::vector<Outcome> others;
    others.reserve(3);
    for (int i = 0; i < 3; ++i) others.push_back(begin(fmt::format("batch{}", n++)));
    proxy.plan({.at = place, .of = "commit("});
    proxy.go_on();
    EXPECT_TRUE(held.get());
    for (Outcome& one : others) {
      const auto committed = one.get();
      EXPECT_TRUE(committed) << to_string(place) << ": " << committed.error().message;
    }
    EXPECT_TRUE(proxy.wait_for_plans());
    EXPECT_EQ(ask("count(*)"), std::to_string(n + 1));
  }
}

TEST_F(CommitterTest, AGroupMayReachTheDiskLaterOnlyIfAllMembersMay) {
  auto held = hold_one();
  auto first = begin("a", Sync::later);
  auto second = begin("b", Sync::later);
  proxy.go_on();
  EXPECT_TRUE(held.get() && first.get() && second.get());
  EXPECT_EQ(ask("string_agg(batch, ' ' ORDER BY batch) FILTER (WHERE later)"), "a b");

  held = hold_one();
  first = begin("c", Sync::later);
  second = begin("d", Sync::now);
  proxy.go_on();
  EXPECT_TRUE(held.get() && first.get() && second.get());
  EXPECT_EQ(ask("string_agg(batch, ' ' ORDER BY batch) FILTER (WHERE later)"), "a b");
}

TEST_F(CommitterTest, AGroupIsNotLargerThanItShouldBe) {
  const std::string body(std::size_t{3} << 20, 'x');
  auto held = hold_one();
  std::vector<Outcome> others;
  for (const auto* batch : {"a", "b", "c", "d"}) others.push_back(begin(batch, Sync::now, body));
  proxy.go_on();
  EXPECT_TRUE(held.get());
  for (Outcome& one : others) EXPECT_TRUE(one.get());
  EXPECT_EQ(committer.transactions(), 3U);  // The held one, then 2 and 2 of 3 MiB.
}

TEST_F(CommitterTest, AGroupHasAtMostSoManyMembers) {
  auto held = hold_one();
  std::vector<Outcome> others;
  others.reserve(130);
  for (int i = 0; i < 130; ++i) others.push_back(begin(fmt::format("b{}", i)));
  proxy.go_on();
  EXPECT_TRUE(held.get());
  for (Outcome& one : others) EXPECT_TRUE(one.get());
  EXPECT_EQ(committer.transactions(), 3U);
}

TEST_F(CommitterTest, OneThatWaitsForALockDoesNotHoldUpItsGroup) {
  PostgresSql other(cluster().address());
  other.execute(fmt::format("BEGIN; INSERT INTO {}.did VALUES ('a')", schema.name()));
  auto held = hold_one();
  auto stuck = begin("a");
  auto free = begin("b");
  proxy.go_on();
  EXPECT_TRUE(held.get());
  while (ask("count(*) FILTER (WHERE batch = 'b')") != "1" &&
         free.wait_for(Duration(0)) != std::future_status::ready) {
  }
  EXPECT_EQ(stuck.wait_for(Duration(0)), std::future_status::timeout);
  other.execute("ROLLBACK");
  EXPECT_TRUE(free.get());
  EXPECT_TRUE(stuck.get());
}

TEST_F(CommitterTest, WhoCannotBeReachedIsUnavailableToAll) {
  Committer hasty(pool, Duration(100));
  proxy.refuse();
  std::vector<Outcome> all;
  all.reserve(4);
  for (int i = 0; i < 4; ++i) {
    all.push_back(std::async(std::launch::async,
                             [&] { return hasty.commit(commission_to("a"), Sync::now); }));
  }
  for (Outcome& one : all) {
    const auto heard = one.get();
    ASSERT_FALSE(heard);
    EXPECT_EQ(heard.error().code, ErrorCode::unavailable);
  }
  EXPECT_EQ(ask("count(*)"), "0");
}

TEST_F(CommitterTest, ManyThreadsLoseNothing) {
  std::vector<std::jthread> threads;
  threads.reserve(16);
  for (int t = 0; t < 16; ++t) {
    threads.emplace_back([this, t] {
      for (int i = 0; i < 20; ++i) EXPECT_TRUE(commit(fmt::format("t{}_{}", t, i)));
    });
  }
  threads.clear();
  EXPECT_EQ(ask("count(*)"), "320");
  EXPECT_LE(committer.transactions(), 320U);
}

}  // namespace
}  // namespace perdure::postgres
