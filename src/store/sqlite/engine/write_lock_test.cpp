// Two open files of one process take turns as two processes do.

#include "sqlite/engine/write_lock.hpp"

#include <chrono>
#include <future>
#include <gtest/gtest.h>
#include <string>

#include "core/api/descriptor.hpp"
#include "doubles/temp_folder.hpp"
#include "files/file_lock.hpp"
#include "perdure/core/error.hpp"

namespace perdure::sqlite {
namespace {

using std::chrono::milliseconds;

constexpr Duration at_once{0};
constexpr Duration long_enough = std::chrono::minutes(5);

class TurnTest : public testing::Test {
 protected:
  [[nodiscard]] WriteLock open() const { return WriteLock::open(folder.file("lock")).value(); }

  /// Its thread goes on waiting when we no longer do. Between our own tries nobody else can be
  /// seen in the door.
  void let_wait(WriteLock& turn) const {
    const Descriptor watcher = open_file(folder.file("lock")).value();
    do {
      ASSERT_FALSE(turn.take(Duration(1)));
    } while (!is_locked_elsewhere(watcher, door_byte));
  }

  TempFolder folder;
};

TEST_F(TurnTest, IsFreeAtFirst) {
  WriteLock turn = open();
  EXPECT_TRUE(turn.take(at_once));
}

TEST_F(TurnTest, IsUnavailableWhileAnotherHasIt) {
  WriteLock first = open();
  WriteLock second = open();
  ASSERT_TRUE(first.take(at_once));
  const auto taken = second.take(milliseconds(20));
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code, ErrorCode::unavailable);
  EXPECT_NE(taken.error().message.find("stopped"), std::string::npos) << taken.error().message;
}

TEST_F(TurnTest, PassesToWhoWaits) {
  WriteLock first = open();
  WriteLock second = open();
  ASSERT_TRUE(first.take(at_once));
  auto waiting = std::async(std::launch::async, [&] { return second.take(long_enough); });
  EXPECT_EQ(waiting.wait_for(milliseconds(20)), std::future_status::timeout);
  first.end();
  EXPECT_TRUE(waiting.get());
}

TEST_F(TurnTest, IsGivenBackWhenItComesTooLate) {
  WriteLock first = open();
  WriteLock second = open();
  ASSERT_TRUE(first.take(at_once));
  let_wait(second);
  first.end();
  // Nobody wants it on the other side any more: it must not stay there.
  EXPECT_TRUE(first.take(long_enough));
  first.end();
  EXPECT_TRUE(second.take(long_enough));
}

TEST_F(TurnTest, CanBeAskedForAgainAfterADeadline) {
  WriteLock first = open();
  WriteLock second = open();
  ASSERT_TRUE(first.take(at_once));
  ASSERT_FALSE(second.take(at_once));
  auto waiting = std::async(std::launch::async, [&] { return second.take(long_enough); });
  first.end();
  EXPECT_TRUE(waiting.get());
  EXPECT_FALSE(first.take(at_once));
}

TEST_F(TurnTest, WhoHadItDoesNotPassWhoStandsInTheDoor) {
  WriteLock first = open();
  const Descriptor waiter = open_file(folder.file("lock")).value();
  ASSERT_TRUE(first.take(at_once));
  ASSERT_EQ(lock_byte(waiter, door_byte, LockWait::no), 0);

  first.end();

  EXPECT_FALSE(first.take(at_once));
}

TEST_F(TurnTest, WhoWaitsStandsInTheDoor) {
  WriteLock first = open();
  WriteLock second = open();
  ASSERT_TRUE(first.take(at_once));
  let_wait(second);
  first.end();
  EXPECT_TRUE(second.take(long_enough));
}

TEST_F(TurnTest, AWaitingOneCanBeClosed) {
  WriteLock first = open();
  ASSERT_TRUE(first.take(at_once));
  {
    WriteLock second = open();
    ASSERT_FALSE(second.take(at_once));
  }
  first.end();
  WriteLock third = open();
  EXPECT_TRUE(third.take(long_enough));
}

}  // namespace
}  // namespace perdure::sqlite
