// Forgetting while others are half-way through something. A transaction of the test's own stands for
// them: it is stopped where another process could be.

#include <chrono>
#include <fmt/format.h>
#include <future>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <thread>

#include "contract/store_contract.hpp"
#include "doubles/postgres_cluster.hpp"
#include "perdure/store/log.hpp"
#include "postgres/client/connection.hpp"
#include "store/api/limits.hpp"
#include "store/api/lookup.hpp"

namespace perdure {

// Instantiated beside their fixtures; their tests are the contract's.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(StoreContract);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SurvivingStore);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(FileStore);

namespace {

using testing::ElementsAre;

class PostgresRetention : public StoreContract {
 protected:
  PostgresRetention() {
    const std::string location = home.location();
    const auto begin = location.find("schema=") + 7;
    name = location.substr(begin, location.find('&', begin) - begin);
  }

  [[nodiscard]] std::string in_store(const std::string& sql) const {
    return postgres::in_schema(sql, postgres::quoted_name(name));
  }
  void half_way(const std::string& sql) { other.execute("BEGIN; " + in_store(sql)); }
  void go_on() { other.execute("COMMIT"); }
  [[nodiscard]] std::string one(const std::string& sql) { return cluster().one(in_store(sql)); }

  /// Starts the work in a thread. Returns when it waits for the other transaction, or has ended.
  template <class Work>
  auto start(Work work) {
    auto running = std::async(std::launch::async, std::move(work));
    const std::string waiting = fmt::format(
        "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE "
        "'%{}%'",
        name);
    while (running.wait_for(std::chrono::milliseconds(1)) != std::future_status::ready &&
           cluster().one(waiting) == "0") {
    }
    return running;
  }

  Version plan(const Lease& lease, const std::string& text) {
    Batch made = batch_of(lease.session, {value(text)});
    made.checkpoint = NewCheckpoint{};
    return commit(lease, made).version.value();
  }

  /// A blob that was put long enough ago to be collected.
  BlobRef old_blob() {
    const BlobRef ref = must(store->blobs().put("bytes"));
    clock.advance(blob_grace_min + 1ms);
    return ref;
  }

  std::string name;  ///< Of the schema.
  PostgresSql other{cluster().address()};
};

INSTANTIATE_TEST_SUITE_P(OnTheServer, PostgresRetention,
                         testing::Values(Backend{"postgres", Home::schema}), name_of);

TEST_P(PostgresRetention, AForkThatIsBeingMadeKeepsWhatItSees) {
  const Lease lease = own(create());
  plan(lease, "old");
  plan(lease, "new");
  half_way(
      R"(SELECT perdure.create_session(NULL, true, '{"nonce":"nonce","id":"fork","status":"active",)"
      R"("wait_reason":"","origin":"session","origin_kind":1,"origin_number":1,"lineage":"fork"}'))");

  auto pruning = start([&] { return store->upkeep().prune(lease.session, {}); });
  go_on();

  EXPECT_EQ(must(pruning.get()), (Pruned{.versions = 1, .entries = 0, .bytes = 0}));
  EXPECT_THAT(texts(session_id("fork")), ElementsAre("old"));
}

TEST_P(PostgresRetention, AForkOfWhatIsBeingPrunedIsNotMade) {
  const Lease lease = own(create());
  plan(lease, "old");
  plan(lease, "new");
  half_way(
      "SELECT perdure.remove_version(1, 1); SELECT perdure.sweep_slice(1, 0, 100, 256, 10000)");

  NewSession made{.id = session_id("fork")};
  made.origin = NewSession::Origin{.session = lease.session, .at = Point::position(1)};
  auto forking = start([&] { return store->sessions().create(made); });
  go_on();

  EXPECT_EQ(code_of(forking.get()), ErrorCode::not_found);
}

TEST_P(PostgresRetention, ACallThatIsBeingWrittenDownKeepsItsArguments) {
  const Lease lease = own(create());
  commit(lease, batch_of(lease.session, {message("args", "calls"), value("end", "calls")}));
  const Lease forked = own(fork("fork", lease.session, Point::head()));
  half_way(
      "SELECT perdure.require_on_line(2, 2, 1, 'arguments'); INSERT INTO perdure.call (session, "
      "position, args, tool, provider_id, effect, state, attempts, failures, fence, segment, "
      "intended_at, who, why) VALUES (2, 3, 1, 't', '', 'unsafe', 'intended', 0, 0, 0, 2, 0, "
      "'', '')");

  auto pruning = start([&] { return store->upkeep().prune(lease.session, {}); });
  go_on();

  EXPECT_EQ(must(pruning.get()).entries, 0U);
  EXPECT_THAT(texts(lease.session), ElementsAre("args", "end"));
}

TEST_P(PostgresRetention, ABlobThatIsBeingNamedIsNotCollected) {
  const BlobRef ref = old_blob();
  half_way(fmt::format("SELECT perdure.require_blobs(ARRAY['\\x{}'::bytea], ARRAY[5])",
                       to_hex(ref.digest)));

  auto collecting = start([&] { return store->upkeep().collect_blobs(blob_grace_min); });
  const auto collected = collecting.get();
  go_on();

  EXPECT_EQ(must(collected), Freed{});
  EXPECT_EQ(must(store->upkeep().collect_blobs(blob_grace_min)).items, 1U);
}

TEST_P(PostgresRetention, ABlobThatIsBeingCollectedIsNotNamed) {
  const Lease lease = own(create());
  const BlobRef ref = old_blob();
  NewEntry entry = message("");
  entry.body = Body::from_blob(ref);
  const Batch made = batch_of(lease.session, {entry});
  half_way(fmt::format("SELECT perdure.collect_slice('', {}, 256, 10000)",
                       clock.now().time_since_epoch().count()));

  auto committing = start([&] { return store->commit(lease, made); });
  go_on();

  EXPECT_EQ(code_of(committing.get()), ErrorCode::invalid_argument);
  EXPECT_TRUE(must(store->upkeep().check()).is_sound());
}

// Each of the last two forks leaves before it can see that the other one does, too.
TEST_P(PostgresRetention, WhatTwoForksSharedGoesWithTheLastOfThem) {
  const Lease lease = own(create());
  say(lease, "shared");
  const SessionId near = fork("near", lease.session, Point::head());
  const SessionId far = fork("far", lease.session, Point::head());
  must(store->ownership().release(lease));
  must(store->upkeep().remove(lease.session));
  must(store->upkeep().remove(near, [](const Step&) { return false; }));
  half_way("SELECT perdure.clear_slice(2, 1000, 0, 256, 10000)");

  auto removing = start([&] { return store->upkeep().remove(far); });
  go_on();
  must(removing.get());
  must(store->upkeep().vacuum());

  EXPECT_EQ(one("SELECT count(*) FROM perdure.entry"), "0");
  EXPECT_EQ(one("SELECT count(*) FROM perdure.segment"), "0");
  EXPECT_EQ(one("SELECT count(*) FROM perdure.garbage"), "0");
}

TEST_P(PostgresRetention, WhatArrivesIsNotClearedAway) {
  const Lease lease = own(create());
  plan(lease, "old");
  plan(lease, "new");
  must(store->ownership().release(lease));
  auto& retention = store->upkeep();
  cluster().execute(
      in_store("DELETE FROM perdure.session; INSERT INTO perdure.garbage VALUES (1, "
               "''); INSERT INTO perdure.transit VALUES (1, 'sto_x', 1, 1)"));
  must(retention.vacuum());
  EXPECT_EQ(one("SELECT count(*) FROM perdure.entry"), "2");
  cluster().execute(in_store("DELETE FROM perdure.transit"));
  must(retention.vacuum());
  EXPECT_EQ(one("SELECT count(*) FROM perdure.entry"), "0");
}

TEST_P(PostgresRetention, EverySliceIsOneStatement) {
  const Lease lease = own(create());
  Batch made = batch(lease.session);
  for (int i = 0; i < 1000; ++i) made.entries.push_back(value("plan"));
  commit(lease, made);
  const auto before = store->info().transactions;
  std::uint64_t slices = 0;

  must(store->upkeep().prune(lease.session, {}, [&](const Step&) { return ++slices > 0; }));

  EXPECT_EQ(slices, 1U + 4U) << "names, then 256 entries at a time";
  EXPECT_EQ(store->info().transactions - before, slices);
  EXPECT_EQ(one("SELECT count(*) FROM perdure.pruned"), "1") << "shadows that touch are one";
}

TEST_P(PostgresRetention, SpaceIsGivenBackAsSoonAsNobodyReadsFromBefore) {
  const Lease lease = own(create());
  for (int i = 0; i < 20; ++i) {
    commit(lease,
           batch_of(lease.session, {message(std::string(100'000, static_cast<char>('a' + i)))}));
  }
  must(store->ownership().release(lease));
  must(store->upkeep().remove(lease.session));
  Freed freed;
  // Other tests may read from the same database just now.
  for (int i = 0; i < 200 && freed.items == 0; ++i) freed = must(store->upkeep().vacuum());

  EXPECT_GT(freed.items, 0U);
  EXPECT_EQ(freed.bytes, freed.items * 8192);
}

// Only a table's owner may vacuum it.
TEST_P(PostgresRetention, ARoleThatOwnsNothingMayForget) {
  const Lease lease = own(create());
  plan(lease, "secret");
  plan(lease, "new");
  const std::string role = "role_" + name;
  cluster().execute("CREATE ROLE " + role + " LOGIN");
  cluster().execute(in_store("SELECT perdure.grant_to('" + role + "')"));
  {
    std::string location = home.location();
    const auto user = location.find("//") + 2;
    location.replace(user, location.find('@') - user, role);
    const auto run = must(open_store(location, {.create = false, .clock = &clock}));
    EXPECT_EQ(must(run->upkeep().erase(lease.session, {1})).items, 1U);
    EXPECT_EQ(must(run->upkeep().prune(lease.session, {})).entries, 1U);
    must(run->upkeep().vacuum());
    EXPECT_TRUE(must(run->upkeep().check()).is_sound());
  }
  cluster().execute("DROP OWNED BY " + role + "; DROP ROLE " + role);
}

TEST_P(PostgresRetention, ErasingVacuumsWhatHeldTheBytes) {
  const Lease lease = own(create());
  say(lease, "secret");
  const std::string vacuumed = fmt::format(
      "SELECT vacuum_count FROM pg_stat_all_tables WHERE schemaname = '{}' AND relname = 'entry'",
      name);
  const std::string before = cluster().one(vacuumed);

  must(store->upkeep().erase(lease.session, {1}));

  EXPECT_NE(cluster().one(vacuumed), before);
}

}  // namespace
}  // namespace perdure
