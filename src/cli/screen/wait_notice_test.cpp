// Who waits long is told so; who does not is told nothing.

#include <chrono>
#include <gtest/gtest.h>
#include <ostream>
#include <semaphore>
#include <sstream>

#include "screen/screen.hpp"

namespace perdure::cli {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

/// Tells when it is flushed.
class Told : public std::stringbuf {
 public:
  std::binary_semaphore is_told{0};

 protected:
  int sync() override {
    is_told.release();
    return 0;
  }
};

TEST(WaitNoticeTest, SaysItOnceAWhileHasPassed) {
  Told told;
  std::ostream out(&told);
  Screen screen(out, {});
  {
    const WaitNotice notice(screen, "Waiting.", milliseconds(1));
    ASSERT_TRUE(told.is_told.try_acquire_for(std::chrono::minutes(5)));
  }
  EXPECT_EQ(told.str(), "Waiting.\n");
}

TEST(WaitNoticeTest, EndsAtOnceAndSaysNothingIfTheWaitDoes) {
  std::ostringstream out;
  Screen screen(out, {});
  {
    const WaitNotice notice(screen, "Waiting.", hours(1));
  }
  EXPECT_EQ(out.str(), "");
}

TEST(WaitNoticeTest, IsQuietWhereTheScreenIs) {
  Told told;
  std::ostream out(&told);
  Screen screen(out, {.is_silent = true});
  {
    const WaitNotice notice(screen, "Waiting.", milliseconds(1));
    ASSERT_TRUE(told.is_told.try_acquire_for(std::chrono::minutes(5)));
  }
  EXPECT_EQ(told.str(), "");
}

}  // namespace
}  // namespace perdure::cli
