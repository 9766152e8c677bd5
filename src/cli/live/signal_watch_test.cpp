// Which signals are one asking to stop, and which are two.

#include "live/signal_watch.hpp"

#include <chrono>
#include <csignal>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include "doubles/fake_clock.hpp"

namespace perdure::cli {
namespace {

constexpr int deadline_ms = 10'000;

class SignalWatchTest : public testing::Test {
 protected:
  // The signal goes to the process, whose one thread that does not block it reads it.
  void ask_to_stop() {
    SignalWatch watch(true, clock);
    if (has_session) watch.hold();
    ::kill(::getpid(), SIGTERM);
    pollfd told{watch.descriptor(), POLLIN, 0};
    ::poll(&told, 1, deadline_ms);
    clock.advance(meanwhile);
    ::kill(::getpid(), SIGTERM);
    sigset_t pending;
    do {
      sigpending(&pending);
    } while (sigismember(&pending, SIGTERM) == 1);
  }

  FakeClock clock;
  Duration meanwhile{};
  bool has_session = true;
};

TEST_F(SignalWatchTest, TwoWithinAMomentAreOne) {
  ask_to_stop();
  SUCCEED();
}

TEST_F(SignalWatchTest, TheSecondLeaves) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  meanwhile = std::chrono::milliseconds(100);
  EXPECT_EXIT(ask_to_stop(), testing::ExitedWithCode(128 + SIGTERM), "");
}

TEST_F(SignalWatchTest, TheFirstLeavesWhereThereIsNoSessionYet) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  has_session = false;
  EXPECT_EXIT(ask_to_stop(), testing::ExitedWithCode(128 + SIGTERM), "");
}

}  // namespace
}  // namespace perdure::cli
