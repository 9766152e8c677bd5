// What a reader sees of an entry whose stored bytes are not what was handed in.
// Looking after whole files (check, salvage) is not built yet; this is the promise
// that every read already keeps.

#include <algorithm>
#include <atomic>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "doubles/temp_folder.hpp"
#include "perdure/store/store.hpp"
#include "sqlite/engine/connection.hpp"
#include "store/api/lookup.hpp"

namespace perdure {
namespace {

class DamagedEntry : public testing::Test {
 protected:
  DamagedEntry() {
    auto store = open_store(path).value();
    EXPECT_TRUE(store->sessions().create({.id = session}));
    EXPECT_TRUE(store->ownership().enroll({.id = worker}));
    const Lease lease = store->ownership().acquire(session, worker).value();
    Batch batch{.id = mint<BatchTag>(random_ids())};
    for (const char* text : {"one", "two", "three"}) {
      batch.entries.push_back(
          {.channel = "transcript", .kind = "message", .body = Body::from_text(text)});
    }
    EXPECT_TRUE(store->commit(lease, batch));
  }

  void edit(const std::string& sql) {
    std::atomic<std::uint64_t> rows = 0;
    sqlite::Connection connection(path, "", SQLITE_OPEN_READWRITE, &rows);
    connection.execute(sql);
  }

  std::vector<Entry> read() { return open_store(path).value()->log().read(session, {}).value(); }

  TempFolder folder;
  const std::string path = folder.file("store.db");
  const SessionId session = SessionId::parse("session").value();
  const WorkerId worker = mint<WorkerTag>(random_ids());
};

TEST_F(DamagedEntry, IsReturnedAsSuchAndDoesNotHideItsNeighbours) {
  edit("UPDATE entry SET body = x'74776f21' WHERE id & 0xFFFFFFFF = 2");

  const auto entries = read();

  ASSERT_EQ(entries.size(), 3U);
  EXPECT_EQ(entries[0].condition, Condition::intact);
  EXPECT_EQ(entries[1].condition, Condition::damaged);
  EXPECT_EQ(entries[1].body.bytes(), "two!");
  EXPECT_EQ(entries[2].condition, Condition::intact);
}

TEST_F(DamagedEntry, IsNotTakenForOneThatWasErased) {
  for (const char* damage :
       {"body = NULL", "body = ''", "body = zeroblob(3)", "codec = -1 - codec",
        "body = NULL, codec = -1 - codec, hash = zeroblob(32)",
        "channel = '', kind = '', codec = 0, at = 0, hash = zeroblob(32), body = NULL"}) {
    edit("UPDATE entry SET " + std::string(damage) + " WHERE id & 0xFFFFFFFF = 2");
    EXPECT_EQ(read().at(1).condition, Condition::damaged) << damage;
    edit(
        "UPDATE entry SET channel = 'transcript', kind = 'message', codec = 0, body = 'two', hash "
        "= "
        "x'" +
        to_hex(sha256("two")) + "' WHERE id & 0xFFFFFFFF = 2");
    EXPECT_EQ(read().at(1).condition, Condition::intact) << damage;
  }
}

// Whoever reads one channel would else take its history, or its last value, for another one.
TEST_F(DamagedEntry, WhoseChannelIsLostIsShownOnEveryChannel) {
  for (const char* damage :
       {"channel = '', kind = '', codec = 0, at = 0, hash = zeroblob(32), body = NULL",
        "channel = '', kind = '', hash = zeroblob(32), body = zeroblob(3)"}) {
    edit("UPDATE entry SET " + std::string(damage) + " WHERE id & 0xFFFFFFFF = 2");
    const auto store = open_store(path).value();
    for (const char* channel : {"", "transcript", "another"}) {
      for (const Order order : {Order::oldest_first, Order::newest_first}) {
        const auto entries =
            store->log().read(session, {.channel = channel, .order = order}).value();
        EXPECT_EQ(std::ranges::count(entries, Condition::damaged, &Entry::condition), 1)
            << channel << " " << damage;
      }
    }
  }
}

TEST_F(DamagedEntry, OrOneErasedKeepsTheHashOfWhatItWas) {
  EXPECT_EQ(open_store(path).value()->upkeep().erase(session, {2}).value().items, 1U);

  const auto entries = read();

  ASSERT_EQ(entries.size(), 3U);
  EXPECT_EQ(entries[1].condition, Condition::erased);
  EXPECT_EQ(entries[1].hash, sha256("two"));
  EXPECT_EQ(entries[2].body.bytes(), "three");
}

TEST_F(DamagedEntry, InABlobIsAnErrorOfItsReader) {
  const BlobRef ref = open_store(path).value()->blobs().put("large").value();
  edit("UPDATE blob SET bytes = x'00'");

  const auto bytes = open_store(path).value()->blobs().get(ref);

  ASSERT_FALSE(bytes);
  EXPECT_EQ(bytes.error().code, ErrorCode::corrupted);
}

}  // namespace
}  // namespace perdure
