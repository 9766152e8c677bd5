// A newer build opens a store that this one has open, and migrates it.

#include <atomic>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <string>

#include "doubles/temp_folder.hpp"
#include "perdure/core/id.hpp"
#include "perdure/store/store.hpp"
#include "store/sqlite/engine/connection.hpp"
#include "store/sqlite/engine/schema.hpp"

namespace perdure {
namespace {

class NewerBuild : public testing::Test {
 protected:
  Result<SessionSummary> create(const std::string& name) {
    return store->sessions().create({.id = SessionId::parse(name).value()});
  }

  /// As a newer build does, from a connection of its own.
  void migrate() const {
    std::atomic<std::uint64_t> rows_read = 0;
    sqlite::Connection other(path, "", SQLITE_OPEN_READWRITE, &rows_read);
    other.execute(fmt::format("PRAGMA user_version = {}", sqlite::format_number + 1));
  }

  TempFolder folder;
  const std::string path = folder.file("store.db");
  std::unique_ptr<Store> store = open_store(path, {}).value();
};

TEST_F(NewerBuild, ThatMigratesTheStoreClosesItForOlderOnes) {
  ASSERT_TRUE(create("before"));
  migrate();

  const auto written = create("after");

  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::closed);
  EXPECT_NE(written.error().message.find("format 5 by a newer build"), std::string::npos)
      << written.error().message;
  EXPECT_EQ(create("again").error().code, ErrorCode::closed);
  EXPECT_EQ(store->sync().error().code, ErrorCode::closed);
}

TEST_F(NewerBuild, LeavesReadersAlone) {
  ASSERT_TRUE(create("before"));
  migrate();
  ASSERT_FALSE(create("after"));

  const auto listed = store->sessions().list({});
  ASSERT_TRUE(listed);
  ASSERT_EQ(listed->sessions.size(), 1U);
  EXPECT_EQ(listed->sessions.front().id.text(), "before");
}

}  // namespace
}  // namespace perdure
