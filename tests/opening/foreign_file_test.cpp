// What opening does to files that are not a store of this build: it says so, and
// leaves every byte as it was.

#include <atomic>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <set>
#include <string>

#include "doubles/temp_folder.hpp"
#include "perdure/store/store.hpp"
#include "sqlite/engine/connection.hpp"

namespace perdure {
namespace {

class ForeignFile : public testing::Test {
 protected:
  void edit(const std::string& sql) {
    std::atomic<std::uint64_t> rows = 0;
    sqlite::Connection connection(path, "", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, &rows);
    connection.execute(sql);
  }

  std::string bytes() {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  [[nodiscard]] std::set<std::string> names() const {
    std::set<std::string> found;
    for (const auto& file : std::filesystem::directory_iterator(folder.path()))
      found.insert(file.path().filename().string());
    return found;
  }

  ErrorCode refused() {
    const std::string before = bytes();
    const auto beside = names();
    const auto store = open_store(path);
    EXPECT_FALSE(store);
    EXPECT_EQ(bytes(), before);
    EXPECT_EQ(names(), beside);
    return store ? ErrorCode{} : store.error().code;
  }

  TempFolder folder;
  const std::string path = folder.file("store.db");
};

TEST_F(ForeignFile, OfAnotherProgramIsCorruptedAndUntouched) {
  edit("CREATE TABLE theirs (a); INSERT INTO theirs VALUES (1)");
  EXPECT_EQ(refused(), ErrorCode::corrupted);
}

TEST_F(ForeignFile, ThatIsNoDatabaseIsCorruptedAndUntouched) {
  std::ofstream(path) << std::string(5000, 'x');
  EXPECT_EQ(refused(), ErrorCode::corrupted);
}

TEST_F(ForeignFile, ThatIsShorterThanAHeaderIsCorruptedAndUntouched) {
  std::ofstream(path) << "x";
  EXPECT_EQ(refused(), ErrorCode::corrupted);
}

TEST_F(ForeignFile, OfANewerFormatIsUnsupportedAndUntouched) {
  ASSERT_TRUE(open_store(path));
  edit("PRAGMA user_version = 1000");
  EXPECT_EQ(refused(), ErrorCode::unsupported);
  std::filesystem::remove(path + "-lock");
  EXPECT_EQ(refused(), ErrorCode::unsupported);
}

TEST_F(ForeignFile, WithoutTablesIsMadeAStore) {
  edit("PRAGMA auto_vacuum = INCREMENTAL; CREATE TABLE t (a); DROP TABLE t");
  ASSERT_NE(bytes(), "");
  EXPECT_TRUE(open_store(path));
}

TEST_F(ForeignFile, OpeningAStoreAgainDoesNotWriteToIt) {
  ASSERT_TRUE(open_store(path));
  const std::string before = bytes();
  ASSERT_TRUE(open_store(path));
  EXPECT_EQ(bytes(), before);
}

class OneFile : public testing::Test {
 protected:
  TempFolder folder;
  const std::string path = folder.file("store.db");
  const WorkerId worker = mint<WorkerTag>(random_ids());
  const SessionId session = mint<SessionTag>(random_ids());
};

TEST_F(OneFile, ByTwoNamesHasOneOwner) {
  auto store = open_store(path).value();
  ASSERT_TRUE(store->sessions().create({.id = session}));
  ASSERT_TRUE(store->ownership().enroll({.id = worker}));
  ASSERT_TRUE(store->ownership().acquire(session, worker));
  std::filesystem::create_symlink(path, folder.file("link.db"));
  auto linked = open_store(folder.file("link.db")).value();
  const auto other = mint<WorkerTag>(random_ids());
  ASSERT_TRUE(linked->ownership().enroll({.id = other}));

  const auto robbed = linked->ownership().acquire(session, other);

  ASSERT_FALSE(robbed);
  EXPECT_EQ(robbed.error().code, ErrorCode::lease_held);
}

TEST_F(OneFile, StaysTheSameWhenTheWorkingFolderChanges) {
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  auto store = open_store("store.db").value();
  ASSERT_TRUE(store->sessions().create({.id = session}));
  std::filesystem::current_path(before);

  EXPECT_TRUE(store->sessions().read(session));
  EXPECT_TRUE(store->change_number());
}

}  // namespace
}  // namespace perdure
