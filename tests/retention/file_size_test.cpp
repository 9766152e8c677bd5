// Space that is given back is given back: the file shrinks.

#include <filesystem>
#include <gtest/gtest.h>

#include "counted/counted_store.hpp"
#include "doubles/must.hpp"

namespace perdure {
namespace {

TEST(Vacuum, TheFileShrinksByWhatItSays) {
  CountedStore counted;
  const Lease lease = counted.open_session("session");
  counted.take_turns(lease, 1000, Sync::later);
  must(counted.store().ownership().release(lease));
  must(counted.store().upkeep().vacuum());
  const auto before = std::filesystem::file_size(counted.path());

  EXPECT_EQ(must(counted.store().upkeep().remove(lease.session)).items, 5000U);
  const Freed freed = must(counted.store().upkeep().vacuum());

  EXPECT_GT(freed.bytes, before / 2);
  EXPECT_EQ(freed.bytes, freed.items * 8192);
  EXPECT_EQ(std::filesystem::file_size(counted.path()), before - freed.bytes);
  EXPECT_EQ(std::filesystem::file_size(counted.path() + "-wal"), 0U);
  EXPECT_EQ(must(counted.store().upkeep().vacuum()), Freed{});
}

TEST(Vacuum, APrunedHistoryIsSmallerAndReadsTheSame) {
  CountedStore counted;
  const Lease lease = counted.open_session("session");
  Batch batch = counted.next_turn(lease.session);
  batch.entries = {batch.entries.back()};
  for (int i = 0; i < 500; ++i) {
    batch.id = mint<BatchTag>(random_ids());
    batch.sync = Sync::later;
    batch.expected_head = must(counted.store().commit(lease, batch)).head;
  }
  must(counted.store().upkeep().vacuum());
  const auto before = std::filesystem::file_size(counted.path());

  must(counted.store().upkeep().prune(lease.session, {.last = 10}));
  must(counted.store().upkeep().vacuum());

  EXPECT_LT(std::filesystem::file_size(counted.path()), before * 2 / 3);
  EXPECT_EQ(must(counted.store().log().read(lease.session, {})).size(), 10U);
}

}  // namespace
}  // namespace perdure
