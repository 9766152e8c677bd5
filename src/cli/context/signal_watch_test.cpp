// Which signals are one asking to stop, and which are two; and that none is lost.

#include "context/signal_watch.hpp"

#include <chrono>
#include <csignal>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <stop_token>
#include <sys/types.h>
#include <thread>
#include <unistd.h>

#include "doubles/fake_clock.hpp"

namespace perdure::cli {
namespace {

constexpr int deadline_ms = 120'000;

class SignalWatchTest : public testing::Test {
 protected:
  SignalWatchTest() {
    testing::FLAGS_gtest_death_test_style = "threadsafe";
    pthread_sigmask(SIG_BLOCK, nullptr, &before);
  }
  ~SignalWatchTest() override { pthread_sigmask(SIG_SETMASK, &before, nullptr); }

  static void await(const SignalWatch& watch) {
    pollfd told{watch.descriptor(), POLLIN, 0};
    ::poll(&told, 1, deadline_ms);
  }

  // The signal goes to the process, whose one thread that does not block it reads it.
  void ask_to_stop() {
    SignalWatch watch(clock);
    if (has_session) watch.hold();
    ::kill(::getpid(), SIGTERM);
    await(watch);
    clock.advance(meanwhile);
    ::kill(::getpid(), SIGTERM);
    sigset_t pending;
    do {
      sigpending(&pending);
    } while (sigismember(&pending, SIGTERM) == 1);
  }

  sigset_t before{};
  FakeClock clock;
  Duration meanwhile{};
  bool has_session = true;
};

TEST_F(SignalWatchTest, TwoWithinAMomentAreOne) {
  ask_to_stop();
  SUCCEED();
}

TEST_F(SignalWatchTest, WithinAMomentOfAnInterruptATerminationCounts) {
  SignalWatch watch(clock);
  watch.hold();
  ::kill(::getpid(), SIGINT);
  await(watch);
  ::kill(::getpid(), SIGTERM);
  // Nothing tells that a second one was read.
  for (int waited = 0; watch.caught() != SIGTERM && waited < deadline_ms / 10; ++waited) {
    ::poll(nullptr, 0, 1);
  }
  EXPECT_EQ(watch.renew(), SIGTERM);
}

TEST_F(SignalWatchTest, TheSecondLeaves) {
  meanwhile = std::chrono::milliseconds(100);
  EXPECT_EXIT(ask_to_stop(), testing::ExitedWithCode(128 + SIGTERM), "");
}

TEST_F(SignalWatchTest, TheFirstLeavesWhereThereIsNoSessionYet) {
  has_session = false;
  EXPECT_EXIT(ask_to_stop(), testing::ExitedWithCode(128 + SIGTERM), "");
}

TEST_F(SignalWatchTest, AHangUpIsTakenForSigterm) {
  SignalWatch watch(clock);
  watch.hold();
  ::kill(::getpid(), SIGHUP);
  await(watch);
  EXPECT_EQ(watch.caught(), SIGTERM);
}

TEST_F(SignalWatchTest, AHangUpThatIsIgnoredStaysIgnored) {
  const auto usual = std::signal(SIGHUP, SIG_IGN);
  SignalWatch watch(clock);
  watch.hold();
  ::kill(::getpid(), SIGHUP);
  ::kill(::getpid(), SIGINT);
  await(watch);
  EXPECT_EQ(watch.caught(), SIGINT);
  std::signal(SIGHUP, usual);
}

TEST_F(SignalWatchTest, WhatIsForgottenIsToldToWhoeverForgetsIt) {
  SignalWatch watch(clock);
  watch.hold();
  ::kill(::getpid(), SIGINT);
  await(watch);
  const std::stop_token turn = watch.token();
  EXPECT_EQ(watch.renew(), SIGINT);
  EXPECT_EQ(watch.renew(), 0);
  EXPECT_FALSE(watch.token().stop_requested());
}

// poll may say that there is something, and another reader be quicker.
TEST_F(SignalWatchTest, EndsThoughAnotherTookTheSignal) {
  sigset_t asked;
  sigemptyset(&asked);
  sigaddset(&asked, SIGINT);
  for (int trial = 0; trial < 200; ++trial) {
    SignalWatch watch(clock);
    watch.hold();
    ::kill(::getpid(), SIGINT);
    const timespec at_once{};
    sigtimedwait(&asked, nullptr, &at_once);
  }
  SUCCEED();
}

TEST_F(SignalWatchTest, WhoeverIsAskedToStopMayAskIt) {
  SignalWatch watch(clock);
  watch.hold();
  const std::stop_callback asks(watch.token(), [&] { static_cast<void>(watch.token()); });
  ::kill(::getpid(), SIGINT);
  await(watch);
  EXPECT_EQ(watch.caught(), SIGINT);
}

void never_stop() {
  SignalWatch watch(system_clock(), Duration(1));
  watch.hold();
  ::kill(::getpid(), SIGHUP);
  for (;;) ::pause();
}

TEST_F(SignalWatchTest, WhatDoesNotStopIsLeftAfterAWhile) {
  EXPECT_EXIT(never_stop(), testing::ExitedWithCode(128 + SIGTERM), "");
}

}  // namespace
}  // namespace perdure::cli
