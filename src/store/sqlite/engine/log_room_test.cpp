// What lies behind the frames of a log, and that nobody takes it for frames.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <sqlite3.h>
#include <string>

#include "doubles/temp_folder.hpp"
#include "sqlite/engine/connection.hpp"
#include "sqlite/engine/schema.hpp"
#include "sqlite/engine/summing_vfs.hpp"

namespace perdure::sqlite {
namespace {

constexpr std::uintmax_t piece = 64 * 1024;

class LogRoomTest : public testing::Test {
 protected:
  LogRoomTest() : db(path, "", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, &rows_read) {
    set_file_layout(db);
    db.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; CREATE TABLE t (a)");
  }

  [[nodiscard]] std::string log() const {
    std::ifstream file(path + "-wal", std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  void insert(int rows) {
    for (int i = 0; i < rows; ++i) db.run("INSERT INTO t VALUES (randomblob(4000))");
  }

  /// How many rows somebody sees who opens a copy of the two files, as after a crash.
  [[nodiscard]] std::int64_t rows_in_a_copy() {
    const std::string copy = folder.file("copy.db");
    const auto over = std::filesystem::copy_options::overwrite_existing;
    std::filesystem::copy_file(path, copy, over);
    std::filesystem::copy_file(path + "-wal", copy + "-wal", over);
    Connection other(copy, "", SQLITE_OPEN_READWRITE, &rows_read);
    Rows rows = other.query("SELECT count(*) FROM t");
    return rows.next() ? rows.integer(0) : -1;
  }

  TempFolder folder;
  const std::string path = folder.file("file.db");
  std::atomic<std::uint64_t> rows_read = 0;
  Connection db;
};

TEST_F(LogRoomTest, IsZerosThatNobodyTakesForFrames) {
  insert(3);
  const std::string bytes = log();
  EXPECT_EQ(bytes.size() % piece, 0U);
  EXPECT_EQ(bytes.substr(bytes.size() - 1000), std::string(1000, '\0'));
  EXPECT_EQ(rows_in_a_copy(), 3);
}

TEST_F(LogRoomTest, GrowsWithTheLogUpToALimit) {
  insert(3);
  EXPECT_LE(log().size(), 3 * piece);
  insert(200);
  const std::uintmax_t length = log().size();
  insert(200);
  EXPECT_EQ(log().size() % piece, 0U);
  EXPECT_GT(log().size(), length);
  const std::uintmax_t frames = log().find_last_not_of('\0');
  EXPECT_LE(log().size(), frames + 1024 * 1024 + 2 * piece);
  EXPECT_EQ(rows_in_a_copy(), 403);
}

TEST_F(LogRoomTest, LeavesFramesOfAnotherConnectionAlone) {
  Connection other(path, "", SQLITE_OPEN_READWRITE, &rows_read);
  for (int i = 0; i < 30; ++i) {
    insert(1);
    other.run("INSERT INTO t VALUES (randomblob(4000))");
  }
  EXPECT_EQ(rows_in_a_copy(), 60);
}

TEST_F(LogRoomTest, IsMadeAgainAfterALogWasCut) {
  insert(30);
  db.execute("PRAGMA wal_checkpoint(TRUNCATE)");
  ASSERT_EQ(log().size(), 0U);
  insert(60);
  EXPECT_EQ(rows_in_a_copy(), 90);
}

/// A file on a disk that is full once `room` bytes are written.
struct FullFile {
  static FullFile& of(sqlite3_file* file) { return *reinterpret_cast<FullFile*>(file); }
  static int write(sqlite3_file* file, const void* data, int size, sqlite3_int64 offset) {
    FullFile& self = of(file);
    if (offset + size > self.room) return SQLITE_FULL;
    const auto at = static_cast<std::size_t>(offset);
    self.bytes.resize(std::max(self.bytes.size(), at + static_cast<std::size_t>(size)));
    self.bytes.replace(at, static_cast<std::size_t>(size), static_cast<const char*>(data),
                       static_cast<std::size_t>(size));
    return SQLITE_OK;
  }
  static int size(sqlite3_file* file, sqlite3_int64* bytes) {
    *bytes = static_cast<sqlite3_int64>(of(file).bytes.size());
    return SQLITE_OK;
  }

  sqlite3_file base{};
  sqlite3_int64 room = 0;
  std::string bytes{};
};

TEST(LogRoom, OnAFullDiskIsNoFailure) {
  sqlite3_io_methods methods{};
  methods.iVersion = 1;
  methods.xWrite = FullFile::write;
  methods.xFileSize = FullFile::size;
  FullFile file{.base = {.pMethods = &methods}, .room = 200};
  LogRoom room;
  EXPECT_EQ(room.write(file.base, "frame", 5, 100), SQLITE_OK);
  EXPECT_EQ(file.bytes.substr(100), "frame");
  EXPECT_EQ(room.write(file.base, "beyond", 6, 196), SQLITE_FULL);
}

}  // namespace
}  // namespace perdure::sqlite
