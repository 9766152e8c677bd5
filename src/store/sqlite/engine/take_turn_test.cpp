// Two open files of one process take turns as two processes do.

#include <chrono>
#include <future>
#include <gtest/gtest.h>
#include <string>
#include <thread>

#include "core/api/descriptor.hpp"
#include "doubles/temp_folder.hpp"
#include "files/file_lock.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/time.hpp"
#include "sqlite/engine/lock_file.hpp"

namespace perdure::sqlite {
namespace {

using std::chrono::milliseconds;

constexpr Duration at_once{0};
constexpr Duration long_enough = std::chrono::minutes(5);

class TurnTest : public testing::Test {
 protected:
  [[nodiscard]] LockFile open() const { return LockFile::open(folder.file("lock")).value(); }

  TempFolder folder;
};

TEST_F(TurnTest, IsFreeAtFirst) {
  LockFile turn = open();
  EXPECT_TRUE(turn.take_turn(at_once));
}

TEST_F(TurnTest, IsUnavailableWhileAnotherHasIt) {
  LockFile first = open();
  LockFile second = open();
  ASSERT_TRUE(first.take_turn(at_once));
  const auto taken = second.take_turn(milliseconds(20));
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code, ErrorCode::unavailable);
  EXPECT_NE(taken.error().message.find("stopped"), std::string::npos) << taken.error().message;
}

/// Ten minutes pass between two looks at it.
class LeapingClock final : public Clock {
 public:
  [[nodiscard]] Timestamp now() const override { return {}; }
  [[nodiscard]] Uptime uptime() const override { return uptime_ += std::chrono::minutes(10); }

 private:
  mutable Uptime uptime_{0};
};

TEST_F(TurnTest, IsWaitedForByTheClockAndNotByTheNumberOfPauses) {
  LockFile first = open();
  LockFile second = open();
  ASSERT_TRUE(first.take_turn(at_once));
  auto waiting = std::async(std::launch::async, [&] {
    return second.take_turn(std::chrono::minutes(30), LeapingClock());
  });
  const auto ended = waiting.wait_for(std::chrono::minutes(2));
  first.end_turn();
  EXPECT_EQ(ended, std::future_status::ready);
  EXPECT_FALSE(waiting.get());
}

TEST_F(TurnTest, PassesToWhoWaits) {
  LockFile first = open();
  LockFile second = open();
  ASSERT_TRUE(first.take_turn(at_once));
  auto waiting = std::async(std::launch::async, [&] { return second.take_turn(long_enough); });
  EXPECT_EQ(waiting.wait_for(milliseconds(20)), std::future_status::timeout);
  first.end_turn();
  EXPECT_TRUE(waiting.get());
}

TEST_F(TurnTest, IsNotTakenByWhoGaveUpWaiting) {
  LockFile first = open();
  LockFile second = open();
  ASSERT_TRUE(first.take_turn(at_once));
  ASSERT_FALSE(second.take_turn(milliseconds(5)));
  first.end_turn();
  EXPECT_TRUE(first.take_turn(at_once));
  first.end_turn();
  EXPECT_TRUE(second.take_turn(at_once));
}

TEST_F(TurnTest, CanBeAskedForAgainAfterADeadline) {
  LockFile first = open();
  LockFile second = open();
  ASSERT_TRUE(first.take_turn(at_once));
  ASSERT_FALSE(second.take_turn(at_once));
  auto waiting = std::async(std::launch::async, [&] { return second.take_turn(long_enough); });
  first.end_turn();
  EXPECT_TRUE(waiting.get());
  EXPECT_FALSE(first.take_turn(at_once));
}

TEST_F(TurnTest, WhoHadItDoesNotPassWhoStandsInTheDoor) {
  LockFile first = open();
  const Descriptor waiter = open_file(folder.file("lock")).value();
  ASSERT_TRUE(first.take_turn(at_once));
  ASSERT_EQ(lock_byte(waiter, door_byte, LockWait::no), 0);

  first.end_turn();

  EXPECT_FALSE(first.take_turn(at_once));
}

TEST_F(TurnTest, WhoWaitsStandsInTheDoor) {
  LockFile first = open();
  LockFile second = open();
  const Descriptor watcher = open_file(folder.file("lock")).value();
  ASSERT_TRUE(first.take_turn(at_once));
  auto waiting = std::async(std::launch::async, [&] { return second.take_turn(long_enough); });
  while (!is_locked_elsewhere(watcher, door_byte)) std::this_thread::yield();
  first.end_turn();
  EXPECT_TRUE(waiting.get());
}

}  // namespace
}  // namespace perdure::sqlite
