// signalfd gives a signal to its reader, like any other input. It is read only as far as there is
// something: poll may be wrong about that, and a thread that sleeps in read() could not be ended.

#include "context/signal_watch.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <mutex>
#include <optional>
#include <poll.h>
#include <signal.h>
#include <stop_token>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <thread>
#include <unistd.h>
#include <utility>

#include "perdure/core/time.hpp"

namespace perdure::cli {
namespace {

constexpr int exit_by_signal = 128;
// Longer than a program takes to signal twice, shorter than a person does.
constexpr Duration one_moment{100};

void raise_event(int descriptor) {
  const std::uint64_t one = 1;
  // It can only fail if the event is raised already.
  [[maybe_unused]] const auto written = ::write(descriptor, &one, sizeof one);
}

// nohup(1) has it ignored, and means it.
bool is_ignored(int signal) {
  struct sigaction action{};
  return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

sigset_t signals_to_watch() {
  sigset_t watched;
  sigemptyset(&watched);
  sigaddset(&watched, SIGINT);
  sigaddset(&watched, SIGTERM);
  if (!is_ignored(SIGHUP)) sigaddset(&watched, SIGHUP);
  return watched;
}

}  // namespace

SignalWatch::SignalWatch(std::optional<Duration> patience, const Clock& clock)
    : clock_(clock), patience_(patience.value_or(Duration(0))) {
  if (!patience) return;
  watched_ = signals_to_watch();
  pthread_sigmask(SIG_BLOCK, &watched_, &before_);
  signals_ = ::signalfd(-1, &watched_, SFD_CLOEXEC | SFD_NONBLOCK);
  told_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  ends_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  thread_ = std::jthread([this](const std::stop_token& stop) { watch(stop); });
}

SignalWatch::~SignalWatch() {
  if (signals_ < 0) return;
  thread_.request_stop();
  raise_event(ends_);
  thread_.join();
  // They stay blocked: one that comes now would end a program that has done what it had to.
  for (const int descriptor : {signals_, told_, ends_}) ::close(descriptor);
}

void SignalWatch::hold() {
  const std::lock_guard lock(mutex_);
  is_held_ = true;
}

bool SignalWatch::let_go() {
  const std::lock_guard lock(mutex_);
  return std::exchange(is_held_, false);
}

std::stop_token SignalWatch::token() {
  const std::lock_guard lock(mutex_);
  return source_.get_token();
}

int SignalWatch::renew() {
  const std::lock_guard lock(mutex_);
  source_ = std::stop_source();
  const int caught = caught_.exchange(0);
  if (told_ < 0) return caught;
  std::uint64_t count = 0;
  // Nothing to read: nothing was told.
  [[maybe_unused]] const auto forgotten = ::read(told_, &count, sizeof count);
  return caught;
}

void SignalWatch::unblock() {
  if (signals_ >= 0) pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

void SignalWatch::block_again() {
  if (signals_ >= 0) pthread_sigmask(SIG_BLOCK, &watched_, nullptr);
}

// What is asked to stop runs code of others, which may ask us something: so not under the lock.
void SignalWatch::take(int signal) {
  std::stop_source asked(std::nostopstate);
  {
    const std::lock_guard lock(mutex_);
    if (!is_held_) ::_exit(exit_by_signal + signal);
    const Uptime now = clock_.uptime();
    if (caught_ != 0) {
      if (now - caught_at_ >= one_moment) ::_exit(exit_by_signal + signal);
      // One that ends a program counts, whatever came first.
      if (signal == SIGTERM) caught_ = SIGTERM;
      return;
    }
    caught_ = signal;
    caught_at_ = now;
    raise_event(told_);
    asked = source_;
  }
  asked.request_stop();
}

int SignalWatch::wait_ms() const {
  const std::lock_guard lock(mutex_);
  if (caught_ == 0 || !is_held_) return -1;
  const Duration left = caught_at_ + patience_ - clock_.uptime();
  if (left <= Duration(0)) ::_exit(exit_by_signal + caught_);
  return static_cast<int>(std::min(left, patience_).count());
}

void SignalWatch::watch(const std::stop_token& stop) {
  std::array<pollfd, 2> events{};
  events[0].fd = signals_;
  events[1].fd = ends_;
  for (pollfd& event : events) event.events = POLLIN;
  while (!stop.stop_requested()) {
    if (::poll(events.data(), events.size(), wait_ms()) <= 0) continue;
    signalfd_siginfo read{};
    if (::read(signals_, &read, sizeof read) != sizeof read) continue;
    const int signal = static_cast<int>(read.ssi_signo);
    take(signal == SIGHUP ? SIGTERM : signal);
  }
}

}  // namespace perdure::cli
