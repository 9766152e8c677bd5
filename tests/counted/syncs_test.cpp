// How often a store waits for the disk: once a commit, once for all that wait, and not
// at all for what may be synced later.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <memory>
#include <vector>

#include "counted/counted_store.hpp"
#include "doubles/committer.hpp"
#include "store/sqlite/engine/lock_file.hpp"

namespace perdure {
namespace {

TEST(Syncs, ALoneCommitSyncsOnce) {
  CountedStore counted;
  const Lease lease = counted.open_session("lone");
  counted.take_turns(lease,
                     1);  // The first frames of a WAL are preceded by its header, with a sync.
  const auto wal = counted.wal().syncs;
  const auto database = counted.database().syncs;

  counted.take_turns(lease, 30);

  EXPECT_EQ(counted.wal().syncs - wal, 30U);
  EXPECT_EQ(counted.database().syncs - database, 0U);
}

TEST(Syncs, AGrantSyncsOnceAndNotAtAllIfItMayBeLater) {
  CountedStore counted;
  const Lease lease = counted.open_session("granted");
  Ownership& ownership = counted.store().ownership();
  ASSERT_TRUE(ownership.release(lease));

  const auto before = counted.syncs();
  const auto later = ownership.acquire(lease.session, lease.worker, Sync::later);
  ASSERT_TRUE(later);
  EXPECT_EQ(counted.syncs() - before, 0U);

  ASSERT_TRUE(ownership.release(*later));
  const auto now = ownership.acquire(lease.session, lease.worker);
  ASSERT_TRUE(now);
  EXPECT_EQ(counted.syncs() - before, 1U);
  EXPECT_EQ(later->fence, lease.fence + 1);
  EXPECT_EQ(now->fence, lease.fence + 2);
}

TEST(Syncs, OverAThousandTurnsOnlyCheckpointsOfTheWalAddToThem) {
  CountedStore counted;
  const Lease lease = counted.open_session("long");
  const auto wal = counted.wal().syncs;
  const auto database = counted.database().syncs;

  counted.take_turns(lease, 1000);

  // A checkpoint syncs the WAL, then the file; the WAL then begins anew with its header.
  const auto checkpoints = counted.database().syncs - database;
  const auto extra = counted.wal().syncs - wal - 1000;
  RecordProperty("checkpoints", static_cast<int>(checkpoints));
  RecordProperty("extra_wal_syncs", static_cast<int>(extra));
  EXPECT_GT(checkpoints, 0U);
  EXPECT_LE(checkpoints, 15U);
  EXPECT_LE(extra, 2 * checkpoints + 1);
}

TEST(Syncs, WhatIsSyncedLaterSyncsNothingUntilAskedTo) {
  CountedStore counted;
  const Lease lease = counted.open_session("later");
  counted.take_turns(lease, 1);
  const auto before = counted.syncs();

  counted.take_turns(lease, 30, Sync::later);
  EXPECT_EQ(counted.syncs() - before, 0U);

  ASSERT_TRUE(counted.store().sync());
  EXPECT_EQ(counted.syncs() - before, 1U);
}

TEST(Syncs, ASyncedCommitCoversTheLaterOnesBeforeIt) {
  CountedStore counted;
  const Lease lease = counted.open_session("mixed");
  counted.take_turns(lease, 1);
  const auto before = counted.wal().syncs;

  counted.take_turns(lease, 10, Sync::later);
  counted.take_turns(lease, 1, Sync::now);

  EXPECT_EQ(counted.wal().syncs - before, 1U);
}

TEST(Syncs, DurabilityOfTheProcessNeedsNone) {
  CountedStore counted(Durability::process);
  const Lease lease = counted.open_session("process");
  counted.take_turns(lease, 1);
  const auto before = counted.syncs();

  counted.take_turns(lease, 30);

  EXPECT_EQ(counted.syncs() - before, 0U);
}

TEST(Syncs, ARepeatDoesNotRestOnLessThanItsFirst) {
  CountedStore counted;
  const Lease lease = counted.open_session("s");
  Batch batch = counted.next_turn(lease.session);
  batch.sync = Sync::later;
  ASSERT_TRUE(counted.store().commit(lease, batch));
  const auto before = counted.syncs();

  batch.sync = Sync::now;
  ASSERT_TRUE(counted.store().commit(lease, batch));

  EXPECT_EQ(counted.syncs() - before, 1U);
}

TEST(Syncs, ACallIsNeverDispatchedOnWhatIsSyncedLater) {
  CountedStore counted;
  const Lease lease = counted.open_session("s");
  Batch batch = counted.next_turn(lease.session);
  batch.sync = Sync::later;
  batch.calls = {Intend{.call = 1, .args = 1, .tool = "pay"}, Dispatch{.call = 1}};
  const auto before = counted.syncs();

  ASSERT_TRUE(counted.store().commit(lease, batch));
  EXPECT_EQ(counted.syncs() - before, 1U);

  // Nor on a repeat whose first may not have been synced.
  ASSERT_TRUE(counted.store().commit(lease, batch));
  EXPECT_EQ(counted.syncs() - before, 2U);
}

// The record of the WAL (lock_file.hpp) marks a page once, after a checkpoint.
TEST(Syncs, WhatTheWalMustHoldIsKeptWithoutReadingTheFiles) {
  CountedStore counted;
  const Lease lease = counted.open_session("s");
  counted.take_turns(lease, 2);
  const auto reads_of = [&](std::size_t turns) {
    const auto before = counted.wal().reads + counted.database().reads;
    counted.take_turns(lease, turns);
    return counted.wal().reads + counted.database().reads - before;
  };

  const auto few = reads_of(10);
  const auto many = reads_of(40);

  EXPECT_EQ(few, many);
}

TEST(Syncs, CommitsThatWaitTogetherShareOne) {
  constexpr int followers = 12;
  AskedClock clock;
  CountedStore counted(Durability::full, clock);
  std::vector<Lease> leases;
  for (int i = 0; i <= followers; ++i)
    leases.push_back(counted.open_session(fmt::format("s{}", i)));
  counted.take_turns(leases[0], 1);
  auto turn = sqlite::LockFile::open(counted.path() + "-lock").value();
  ASSERT_TRUE(turn.take_turn(Duration{0}));
  const auto syncs = counted.syncs();
  const auto transactions = counted.counters().transactions;
  const int asked = clock.asked();

  // The first is alone in the queue and waits for its turn; the others queue behind it.
  Committers committers;
  committers.push_back(std::make_unique<Committer>(counted.store(), leases[0],
                                                   counted.next_turn(leases[0].session)));
  ASSERT_TRUE(wait_until_queued(committers, clock, asked + 1));
  for (int i = 1; i <= followers; ++i) {
    committers.push_back(std::make_unique<Committer>(
        counted.store(), leases[static_cast<std::size_t>(i)],
        counted.next_turn(leases[static_cast<std::size_t>(i)].session)));
  }
  ASSERT_TRUE(wait_until_queued(committers, clock, asked + 1 + followers));
  turn.end_turn();
  for (const auto& committer : committers) EXPECT_TRUE(committer->finish());

  EXPECT_EQ(counted.counters().transactions - transactions, 2U);
  EXPECT_EQ(counted.syncs() - syncs, 2U);
}

TEST(Groups, ABatchRefusedLateLeavesNoTraceInTheTransactionItShares) {
  constexpr std::size_t followers = 3;
  AskedClock clock;
  CountedStore counted(Durability::full, clock);
  std::vector<Lease> leases;
  for (std::size_t i = 0; i <= followers; ++i) {
    leases.push_back(counted.open_session(fmt::format("s{}", i)));
  }
  // It is refused only when its entries are already written.
  Batch bad = counted.next_turn(leases[2].session);
  bad.consumed = {mint<MessageTag>(random_ids())};
  auto turn = sqlite::LockFile::open(counted.path() + "-lock").value();
  ASSERT_TRUE(turn.take_turn(Duration{0}));
  const int asked = clock.asked();

  Committers committers;
  committers.push_back(std::make_unique<Committer>(counted.store(), leases[0],
                                                   counted.next_turn(leases[0].session)));
  ASSERT_TRUE(wait_until_queued(committers, clock, asked + 1));
  committers.push_back(std::make_unique<Committer>(counted.store(), leases[1],
                                                   counted.next_turn(leases[1].session)));
  committers.push_back(std::make_unique<Committer>(counted.store(), leases[2], bad));
  committers.push_back(std::make_unique<Committer>(counted.store(), leases[3],
                                                   counted.next_turn(leases[3].session)));
  ASSERT_TRUE(wait_until_queued(committers, clock, asked + 1 + static_cast<int>(followers)));
  turn.end_turn();

  for (std::size_t i = 0; i <= followers; ++i)
    EXPECT_EQ(committers[i]->finish().has_value(), i != 2) << i;
  EXPECT_TRUE(counted.store().log().read(leases[2].session, {})->empty());
  EXPECT_EQ(counted.store().sessions().read(leases[2].session)->next, 1U);
  EXPECT_EQ(counted.store().log().read(leases[3].session, {})->size(),
            CountedStore::entries_per_turn);
  counted.take_turns(leases[2], 1);
}

}  // namespace
}  // namespace perdure
