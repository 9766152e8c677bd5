// What the lock file says of the WAL, and when it says nothing.

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <string>

#include "doubles/temp_folder.hpp"
#include "sqlite/engine/connection.hpp"
#include "sqlite/engine/lock_file.hpp"
#include "sqlite/engine/writer.hpp"

namespace perdure::sqlite {
namespace {

WalRecord example() {
  WalRecord record{.salts = {7, 8},
                   .frames = 12,
                   .synced = 10,
                   .boot = current_boot(),
                   .before = {PageMark{.page = 3, .sum = 99}, PageMark{.page = 4}}};
  record.seal();
  return record;
}

class WalRecordTest : public testing::Test {
 protected:
  const TempFolder folder;
  const std::string path = folder.file("store-lock");
  LockFile lock_file = LockFile::open(path).value();
};

TEST_F(WalRecordTest, IsReadByOthersAsItWasWritten) {
  lock_file.keep(example());
  EXPECT_EQ(LockFile::open(path).value().read_record(), example());
}

TEST_F(WalRecordTest, ClaimsNothingInANewOrAnOlderFile) {
  EXPECT_EQ(lock_file.read_record(), WalRecord{});
  lock_file.set_failures({.seen = 2, .recovered = 1});
  EXPECT_EQ(lock_file.read_record(), WalRecord{});
}

TEST_F(WalRecordTest, ClaimsNothingIfAnyByteOfItIsAnother) {
  for (std::streamoff at = 0; at < static_cast<std::streamoff>(sizeof(WalRecord)); ++at) {
    lock_file.keep(example());
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(24 + at);
    const auto byte = static_cast<char>(file.get() ^ 0x10);
    file.seekp(24 + at);
    file.put(byte).flush();
    EXPECT_EQ(lock_file.read_record(), WalRecord{}) << "byte " << at;
  }
}

TEST_F(WalRecordTest, ClaimsNothingIfItsEndIsMissing) {
  lock_file.keep(example());
  std::filesystem::resize_file(path, 24 + sizeof(WalRecord) - 1);
  EXPECT_EQ(lock_file.read_record(), WalRecord{});
}

TEST_F(WalRecordTest, IsNoneIfAllIsZero) { EXPECT_FALSE(WalRecord{}.is_sealed()); }

TEST_F(WalRecordTest, LeavesTheCountsOfFailedSyncsAlone) {
  lock_file.set_failures({.seen = 2, .recovered = 1});
  lock_file.keep(example());
  EXPECT_EQ(lock_file.failures().seen, 2U);
  EXPECT_EQ(lock_file.failures().recovered, 1U);
  lock_file.set_failures({.seen = 2, .recovered = 2});
  EXPECT_EQ(lock_file.read_record(), example());
}

TEST_F(WalRecordTest, IsSeenWithTheCountsThatEveryTurnBeginsWith) {
  LockFile other = LockFile::open(path).value();
  other.keep(example());
  static_cast<void>(lock_file.failures());
  EXPECT_EQ(lock_file.last_record(), example());
}

// Another process may write frames back while a store is opened: that is no sync of ours.
TEST_F(WalRecordTest, OfAnOpeningThatWroteNothingClaimsNoSync) {
  std::atomic<std::uint64_t> rows_read = 0;
  Connection db(folder.file("store"), "", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, &rows_read);
  db.execute("PRAGMA journal_mode = WAL; CREATE TABLE t (a);");
  auto before = read_wal_index(db);
  ASSERT_TRUE(before);
  before->written_back = before->frames;

  Acknowledged(db, lock_file).begin(before);

  EXPECT_EQ(lock_file.read_record().frames, before->frames);
  EXPECT_EQ(lock_file.read_record().synced, 0U);
}

TEST_F(WalRecordTest, KnowsTheBootOfTheMachine) {
  EXPECT_NE(current_boot(), 0U);
  EXPECT_EQ(current_boot(), current_boot());
}

}  // namespace
}  // namespace perdure::sqlite
