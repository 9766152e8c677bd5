// Recent states: found, forgotten when there is no room.

#include <cstddef>
#include <gtest/gtest.h>
#include <memory>
#include <string>

#include "saver/thread_log.hpp"

namespace perdure::saver {
namespace {

Known known(std::size_t bytes) {
  return {.head = bytes, .text = std::make_shared<const std::string>(bytes, 'x')};
}

TEST(Recent, ForgetsTheLongestUnusedWhereThereIsNoRoom) {
  Recent recent(250);
  recent.keep("a", known(100));
  recent.keep("b", known(100));
  ASSERT_TRUE(recent.find("a"));
  recent.keep("c", known(100));
  EXPECT_TRUE(recent.find("a"));
  EXPECT_FALSE(recent.find("b"));
  EXPECT_TRUE(recent.find("c"));
}

TEST(Recent, KeepsNothingThatIsLargerThanItself) {
  Recent recent(250);
  recent.keep("a", known(300));
  EXPECT_FALSE(recent.find("a"));
}

TEST(Recent, KeepsTheLastOfAThread) {
  Recent recent(250);
  recent.keep("a", known(200));
  recent.keep("a", known(240));
  ASSERT_TRUE(recent.find("a"));
  EXPECT_EQ(recent.find("a")->head, 240U);
  recent.forget("a");
  recent.forget("a");
  EXPECT_FALSE(recent.find("a"));
}

}  // namespace
}  // namespace perdure::saver
