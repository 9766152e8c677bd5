// Which files get sums, in which pages, whoever writes them and in whatever order.

#include "sqlite/engine/summing_vfs.hpp"

#include <atomic>
#include <fmt/format.h>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <string>
#include <vector>

#include "doubles/temp_folder.hpp"
#include "sqlite/engine/connection.hpp"
#include "sqlite/engine/schema.hpp"

namespace perdure::sqlite {
namespace {

class SummingVfsTest : public testing::Test {
 protected:
  [[nodiscard]] Connection open() {
    return Connection(path, "", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, &rows_read);
  }

  static void fill(Connection& db, int rows) {
    db.execute("CREATE TABLE IF NOT EXISTS t (a, b); BEGIN;");
    for (int i = 0; i < rows; ++i) db.run("INSERT INTO t VALUES (?, randomblob(3000))", i);
    db.execute("COMMIT");
  }

  [[nodiscard]] std::string bytes() const {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  /// Pages of the file that do not match their sums.
  [[nodiscard]] std::vector<std::uint32_t> wrong_pages() const {
    std::vector<std::uint32_t> wrong;
    const std::string all = bytes();
    for (std::size_t at = 0; at < all.size(); at += summed_page_bytes) {
      const auto number = static_cast<std::uint32_t>(at / summed_page_bytes + 1);
      const std::string page = all.substr(at, summed_page_bytes);
      if (page.size() < summed_page_bytes || !has_right_sum(page, number)) wrong.push_back(number);
    }
    return wrong;
  }

  /// Pages that a new connection sees as wrong, reading all of them.
  [[nodiscard]] std::vector<std::uint32_t> noted_pages() {
    std::vector<std::uint32_t> noted;
    Connection db = open();
    db.note_wrong_pages(&noted);
    Rows rows = db.query("SELECT data FROM sqlite_dbpage");
    while (rows.next()) ++pages;
    return noted;
  }

  void flip(std::size_t at) const {
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    file.seekg(static_cast<std::streamoff>(at));
    const int before = file.get();
    file.seekp(static_cast<std::streamoff>(at));
    file.put(static_cast<char>(before ^ 1));
  }

  TempFolder folder;
  const std::string path = folder.file("file.db");
  std::atomic<std::uint64_t> rows_read = 0;
  int pages = 0;
};

const std::vector<std::uint32_t> none;

TEST_F(SummingVfsTest, SumsWhatACheckpointWritesBack) {
  {
    Connection db = open();
    set_file_layout(db);
    db.execute("PRAGMA journal_mode = WAL");
    fill(db, 50);
    db.execute("PRAGMA wal_checkpoint");
    fill(db, 50);
  }
  EXPECT_GT(bytes().size(), 40 * summed_page_bytes);
  EXPECT_EQ(wrong_pages(), none);
  EXPECT_EQ(noted_pages(), none);
}

TEST_F(SummingVfsTest, SumsWhatIsWrittenWithoutAWalAndWhatIsRolledBack) {
  {
    Connection db = open();
    set_file_layout(db);
    fill(db, 50);
    const std::string before = bytes();
    db.execute("PRAGMA cache_size = 5; BEGIN; UPDATE t SET b = randomblob(3000)");
    ASSERT_NE(bytes(), before) << "there is nothing to roll back in the file";
    db.execute("ROLLBACK");
  }
  EXPECT_EQ(wrong_pages(), none);
}

// With a small cache and no journal, pages go to the file as they come.
TEST_F(SummingVfsTest, SumsPagesThatAreWrittenBeforeTheFirst) {
  {
    Connection db = open();
    db.execute("PRAGMA page_size = 8192");
    db.make_room_for_sums();
    db.execute("PRAGMA journal_mode = OFF; PRAGMA cache_size = 5");
    db.execute("BEGIN; CREATE TABLE t (a, b)");
    for (int i = 0; i < 100; ++i) db.run("INSERT INTO t VALUES (?, randomblob(3000))", i);
    ASSERT_GT(bytes().size(), 10 * summed_page_bytes);
    ASSERT_EQ(bytes().substr(0, 16), std::string(16, '\0')) << "the first page was not the last";
    db.execute("COMMIT");
  }
  EXPECT_EQ(wrong_pages(), none);
}

TEST_F(SummingVfsTest, LeavesFilesWithoutRoomForSumsAsTheyAre) {
  {
    Connection db = open();
    db.execute("PRAGMA page_size = 8192; PRAGMA journal_mode = WAL");
    fill(db, 50);
    Rows rows = db.query("PRAGMA integrity_check");
    ASSERT_TRUE(rows.next());
    EXPECT_EQ(rows.text(0), "ok");
  }
  EXPECT_EQ(wrong_pages().size(), bytes().size() / summed_page_bytes);
  EXPECT_EQ(noted_pages(), none) << "they are not wrong either";
  EXPECT_EQ(open().reserved_bytes(), 0U);
}

TEST_F(SummingVfsTest, NotesPagesThatAreReadAndWrong) {
  {
    Connection db = open();
    set_file_layout(db);
    fill(db, 50);
  }
  flip(90);
  flip(5 * summed_page_bytes + 4000);
  flip(9 * summed_page_bytes - 1);  // In the sum itself.

  EXPECT_EQ(noted_pages(), (std::vector<std::uint32_t>{1, 6, 9}));
  EXPECT_GT(pages, 20);
}

TEST_F(SummingVfsTest, DoesNotNoteAPageWhoseGoodCopyIsInTheWal) {
  Connection db = open();
  set_file_layout(db);
  db.execute("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0");
  fill(db, 50);
  db.execute("PRAGMA wal_checkpoint");
  db.execute("UPDATE t SET b = randomblob(3000) WHERE a = 0");
  const std::size_t flipped = bytes().size() / summed_page_bytes - 1;
  for (std::size_t page = 1; page <= flipped; ++page) flip(page * summed_page_bytes + 4000);

  // The row lies in one page, and no other is in the WAL.
  EXPECT_EQ(noted_pages().size(), flipped - 1);
}

TEST_F(SummingVfsTest, IsNeverTheDefaultAndGoesWithItsConnection) {
  sqlite3_vfs* before = sqlite3_vfs_find(nullptr);
  std::string name;
  {
    const SummingVfs vfs(*before);
    name = vfs.name();
    EXPECT_EQ(sqlite3_vfs_find(nullptr), before);
    EXPECT_NE(sqlite3_vfs_find(name.c_str()), nullptr);
  }
  EXPECT_EQ(sqlite3_vfs_find(name.c_str()), nullptr);
}

TEST_F(SummingVfsTest, OverAVfsThatIsNotThereIsAnError) {
  EXPECT_THROW(Connection(path, "no such vfs", SQLITE_OPEN_READWRITE, &rows_read), SqliteError);
}

}  // namespace
}  // namespace perdure::sqlite
