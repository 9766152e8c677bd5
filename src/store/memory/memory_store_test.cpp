// A walk through every role of a memory store. Its rules are held by tests/contract,
// which runs over every backend.

#include "memory/memory_store.hpp"

#include <cstdint>
#include <gtest/gtest.h>

#include "doubles/counting_ids.hpp"
#include "doubles/fake_clock.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "store/api/limits.hpp"
#include "store/api/lookup.hpp"

namespace perdure {
namespace {

TEST(MemoryStore, KeepsASessionFromItsFirstEntryToAFork) {
  FakeClock clock;
  CountingIds ids;
  OpenOptions options;
  options.clock = &clock;
  options.ids = &ids;
  const auto store = open_memory(options).value();
  const std::uint64_t start = store->change_number().value();

  NewSession session;
  session.id = SessionId::parse("ses_1").value();
  ASSERT_TRUE(store->sessions().create(session));
  EXPECT_EQ(store->wait_for_change(start, Duration::max()).value(), start + 1);
  NewWorker worker;
  worker.id = WorkerId::parse("wrk_1").value();
  worker.lease_time = lease_time_max;
  ASSERT_TRUE(store->ownership().enroll(worker));
  const Lease lease = store->ownership().acquire(session.id, worker.id).value();
  const BlobRef blob = store->blobs().put("large").value();
  const InboxMessage posted{session.id, MessageId::parse("msg_1").value(), "note", {}};
  ASSERT_TRUE(store->inbox().post(posted));

  Batch batch;
  batch.id = BatchId::parse("bat_1").value();
  NewEntry entry;
  entry.channel = "transcript";
  entry.kind = "message";
  entry.body = Body::from_blob(blob);
  batch.entries = {entry};
  batch.consumed = {posted.id};
  batch.checkpoint.emplace();
  const Receipt receipt = store->commit(lease, batch).value();
  EXPECT_EQ(store->commit(lease, batch).value(), receipt);
  EXPECT_TRUE(store->inbox().list(session.id, 10).value().empty());

  NewSession fork;
  fork.id = SessionId::parse("ses_2").value();
  fork.origin = NewSession::Origin{session.id, Point::version(1), Lineage::fork};
  ASSERT_TRUE(store->sessions().create(fork));
  const auto log = store->log().read(fork.id, {}).value();
  ASSERT_EQ(log.size(), 1U);
  EXPECT_EQ(store->blobs().get(log[0].body.blob().value()).value(), "large");
  EXPECT_EQ(store->info().commits, 1U);
  EXPECT_TRUE(store->sync());
}

TEST(MemoryStore, WaitingWithoutTimeReturnsAtOnce) {
  const auto store = open_memory({}).value();
  EXPECT_EQ(store->wait_for_change(0, Duration(0)).value(), 0U);
  EXPECT_EQ(store->wait_for_change(0, Duration::min()).value(), 0U);
}

}  // namespace
}  // namespace perdure
