// A line that leads back to itself, as a damaged segment row can make it: reading it ends
// with an error instead of never, and no other session is touched by it.

#include <atomic>
#include <gtest/gtest.h>
#include <memory>
#include <string>

#include "doubles/temp_folder.hpp"
#include "perdure/store/store.hpp"
#include "sqlite/engine/connection.hpp"
#include "store/api/lookup.hpp"

namespace perdure {
namespace {

class EndlessLine : public testing::TestWithParam<const char*> {
 protected:
  EndlessLine() {
    auto made = open_store(path).value();
    EXPECT_TRUE(made->ownership().enroll({.id = worker, .host = "here", .pid = 1}));
    for (const SessionId& id : {damaged, whole}) {
      EXPECT_TRUE(made->sessions().create({.id = id}));
      const Lease lease = made->ownership().acquire(id, worker).value();
      Batch batch{.id = BatchId::parse("b1").value()};
      batch.entries = {{.channel = "transcript", .kind = "message", .body = Body::from_text("1")}};
      batch.checkpoint = NewCheckpoint{};
      EXPECT_TRUE(made->commit(lease, batch));
      batch.id = BatchId::parse("b2").value();
      batch.expected_head = 1;
      batch.branch_from = Point::version(1);
      EXPECT_TRUE(made->commit(lease, batch));
    }
    made.reset();
    std::atomic<std::uint64_t> rows = 0;
    sqlite::Connection connection(path, "", SQLITE_OPEN_READWRITE, &rows);
    connection.execute(GetParam());
    store = open_store(path).value();
  }

  TempFolder folder;
  const std::string path = folder.file("store.db");
  const WorkerId worker = WorkerId::parse("worker").value();
  const SessionId damaged = SessionId::parse("damaged").value();
  const SessionId whole = SessionId::parse("whole").value();
  std::unique_ptr<Store> store;
};

// Segments 1 and 2 belong to the first session, its branch and it; then come the second's.
INSTANTIATE_TEST_SUITE_P(ByASegment, EndlessLine,
                         testing::Values("UPDATE segment SET parent = num WHERE num = 1",
                                         "UPDATE segment SET parent = 2, first = 9 WHERE num = 1"));

TEST_P(EndlessLine, IsCorruptedAndEnds) {
  for (const Point point : {Point::head(), Point::version(1), Point::position(1)}) {
    const auto read = store->log().read(damaged, {.as_of = point});
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code, ErrorCode::corrupted);
    EXPECT_FALSE(store->lookup().line(damaged, point));
    EXPECT_FALSE(store->log().find_value(damaged, "plan", point));
  }
  EXPECT_EQ(store->log().read(whole, {})->size(), 2U);
}

TEST_P(EndlessLine, DoesNotHoldUpAView) {
  std::atomic<std::uint64_t> read = 0;
  sqlite::Connection connection(path, "", SQLITE_OPEN_READONLY, &read);
  auto rows = connection.query("SELECT count(transcript_json) FROM checkpoints");
  ASSERT_TRUE(rows.next());
  EXPECT_EQ(rows.integer(0), 4);
}

}  // namespace
}  // namespace perdure
