// A format number that a damaged byte has changed: what the file says it is does not fit
// what it is. It can be read, and nobody writes to it.

#include <atomic>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <memory>
#include <string>

#include "doubles/next_format.hpp"
#include "doubles/temp_folder.hpp"
#include "perdure/core/id.hpp"
#include "store/sqlite/engine/connection.hpp"
#include "store/sqlite/engine/schema.hpp"
#include "store/sqlite/sqlite_store.hpp"

namespace perdure {
namespace {

class DamagedFormat : public testing::Test {
 protected:
  DamagedFormat() {
    const auto store = open(path).value();
    EXPECT_TRUE(store->sessions().create({.id = kept}));
    EXPECT_TRUE(store->upkeep().backup(copy));
    incarnation = store->info().incarnation;
  }

  /// As a build does that knows a format more.
  static Result<std::unique_ptr<Store>> open(const std::string& file) {
    return sqlite::open_sqlite({.path = file, .steps = next_sqlite_steps});
  }

  /// Says that the file has the format before the one it has.
  static void damage(const std::string& file) {
    std::atomic<std::uint64_t> rows_read = 0;
    sqlite::Connection db(file, "", SQLITE_OPEN_READWRITE, &rows_read);
    db.execute(fmt::format("PRAGMA user_version = {}", sqlite::format_number));
  }

  void expect_read_only(Store& store) {
    EXPECT_TRUE(store.sessions().read(kept));
    const auto id = SessionId::parse("new").value();
    const auto created = store.sessions().create({.id = id});
    ASSERT_FALSE(created);
    EXPECT_EQ(created.error().code, ErrorCode::corrupted);
    EXPECT_EQ(store.sync().error().code, ErrorCode::corrupted);
    EXPECT_EQ(store.upkeep().vacuum().error().code, ErrorCode::corrupted);
    EXPECT_EQ(store.sessions().read(id).error().code, ErrorCode::not_found);
  }

  TempFolder folder;
  const std::string path = folder.file("store.db");
  const std::string copy = folder.file("copy.db");
  const SessionId kept = SessionId::parse("kept").value();
  std::string incarnation;
};

TEST_F(DamagedFormat, LeavesAStoreToReadersOnly) {
  damage(path);
  const auto store = open(path);
  ASSERT_TRUE(store) << store.error().message;
  expect_read_only(**store);
}

// Nobody may take it for the store that it is a copy of.
TEST_F(DamagedFormat, LeavesABackupToReadersOnly) {
  damage(copy);
  const auto store = open(copy);
  ASSERT_TRUE(store) << store.error().message;
  EXPECT_EQ((*store)->info().incarnation, incarnation);
  expect_read_only(**store);
}

}  // namespace
}  // namespace perdure
