// What closes a store object to writers, and whom else.

#include "sqlite/gate.hpp"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <string>

#include "doubles/temp_folder.hpp"
#include "perdure/core/error.hpp"
#include "sqlite/lock_file.hpp"

namespace perdure::sqlite {
namespace {

class GateTest : public testing::Test {
 protected:
  GateTest() {
    make_file();
    gate_.open();
  }

  void make_file() const { std::ofstream(path_) << "a store"; }

  static void expect_closed(Gate& gate) {
    const auto checked = gate.check();
    ASSERT_FALSE(checked);
    EXPECT_EQ(checked.error().code, ErrorCode::closed);
  }

  TempFolder folder_;
  const std::string path_ = folder_.file("store");
  LockFile lock_file_ = LockFile::open(path_ + "-lock").value();
  Gate gate_{path_, lock_file_};
};

TEST_F(GateTest, IsOpenWhileNothingHappens) {
  lock_file_.touch();
  EXPECT_TRUE(gate_.check());
}

TEST_F(GateTest, ClosesForEverybodyWhoHasTheStoreOpen) {
  LockFile other_file = LockFile::open(path_ + "-lock").value();
  Gate other(path_, other_file);
  other.open();
  gate_.close_for_all();
  expect_closed(gate_);
  expect_closed(other);
}

TEST_F(GateTest, LetsThoseWriteWhoOpenLater) {
  gate_.close_for_all();
  Gate later(path_, lock_file_);
  later.open();
  EXPECT_TRUE(later.check());
}

TEST_F(GateTest, SaysThatAFailureWaitsForRecovery) {
  gate_.close_for_all();
  const auto failures = lock_file_.failures();
  EXPECT_EQ(failures.seen, 1U);
  EXPECT_EQ(failures.recovered, 0U);
}

TEST_F(GateTest, ClosesWhenTheFileIsGone) {
  std::filesystem::remove(path_);
  expect_closed(gate_);
}

TEST_F(GateTest, ClosesWhenTheFileIsReplaced) {
  std::filesystem::rename(path_, path_ + ".old");
  make_file();
  expect_closed(gate_);
}

TEST_F(GateTest, ClosesWhenTheLockFileIsGone) {
  std::filesystem::remove(path_ + "-lock");
  expect_closed(gate_);
}

TEST_F(GateTest, StaysClosed) {
  std::filesystem::rename(path_, path_ + ".old");
  expect_closed(gate_);
  std::filesystem::rename(path_ + ".old", path_);
  expect_closed(gate_);
}

}  // namespace
}  // namespace perdure::sqlite
