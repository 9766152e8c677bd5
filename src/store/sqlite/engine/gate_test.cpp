// What closes a store object to writers, and whom else.

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <string>

#include "doubles/temp_folder.hpp"
#include "perdure/core/error.hpp"
#include "sqlite/engine/lock_file.hpp"
#include "sqlite/engine/writer.hpp"

namespace perdure::sqlite {
namespace {

class GateTest : public testing::Test {
 protected:
  GateTest() {
    make_file();
    make_log();
    gate.open();
  }

  void make_file() const { std::ofstream(path) << "a store"; }
  void make_log() const { std::ofstream(path + "-wal") << "its log"; }

  static void expect_closed(Gate& closed) {
    const auto checked = closed.check();
    ASSERT_FALSE(checked);
    EXPECT_EQ(checked.error().code, ErrorCode::closed);
  }

  TempFolder folder;
  const std::string path = folder.file("store");
  LockFile lock_file = LockFile::open(path + "-lock").value();
  Gate gate{path, lock_file};
};

TEST_F(GateTest, IsOpenWhileNothingHappens) {
  lock_file.keep({});
  EXPECT_TRUE(gate.check());
}

TEST_F(GateTest, ClosesForEverybodyWhoHasTheStoreOpen) {
  LockFile other_file = LockFile::open(path + "-lock").value();
  Gate other(path, other_file);
  other.open();
  gate.close_for_all();
  expect_closed(gate);
  expect_closed(other);
}

TEST_F(GateTest, LetsThoseWriteWhoOpenLater) {
  gate.close_for_all();
  Gate later(path, lock_file);
  later.open();
  EXPECT_TRUE(later.check());
}

TEST_F(GateTest, SaysThatAFailureWaitsForRecovery) {
  gate.close_for_all();
  const auto failures = lock_file.failures();
  EXPECT_EQ(failures.seen, 1U);
  EXPECT_EQ(failures.recovered, 0U);
}

TEST_F(GateTest, ClosesWhenTheFileIsGone) {
  std::filesystem::remove(path);
  expect_closed(gate);
}

TEST_F(GateTest, ClosesWhenTheFileIsReplaced) {
  std::filesystem::rename(path, path + ".old");
  make_file();
  expect_closed(gate);
}

TEST_F(GateTest, ClosesWhenTheLockFileIsGone) {
  std::filesystem::remove(path + "-lock");
  expect_closed(gate);
}

TEST_F(GateTest, ClosesWhenTheLogIsGone) {
  std::filesystem::remove(path + "-wal");
  expect_closed(gate);
}

TEST_F(GateTest, ClosesWhenTheLogIsReplaced) {
  std::filesystem::rename(path + "-wal", path + "-wal.old");
  make_log();
  expect_closed(gate);
}

TEST_F(GateTest, StaysOpenWhenTheLogIsEmptied) {
  std::filesystem::resize_file(path + "-wal", 0);
  EXPECT_TRUE(gate.check());
}

TEST_F(GateTest, StaysClosed) {
  std::filesystem::rename(path, path + ".old");
  expect_closed(gate);
  std::filesystem::rename(path + ".old", path);
  expect_closed(gate);
}

}  // namespace
}  // namespace perdure::sqlite
