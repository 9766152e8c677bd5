// signalfd gives a signal to whoever reads it, like any other input.

#include "live/signal_watch.hpp"

#include <array>
#include <csignal>
#include <cstdint>
#include <mutex>
#include <poll.h>
#include <signal.h>
#include <stop_token>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <thread>
#include <unistd.h>

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

}  // namespace

SignalWatch::SignalWatch(bool is_on, const Clock& clock) : clock_(clock) {
  if (!is_on) return;
  sigset_t watched;
  sigemptyset(&watched);
  sigaddset(&watched, SIGINT);
  sigaddset(&watched, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &watched, &before_);
  signals_ = ::signalfd(-1, &watched, SFD_CLOEXEC);
  told_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  ends_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  thread_ = std::jthread([this](const std::stop_token& stop) { watch(stop); });
}

SignalWatch::~SignalWatch() {
  if (signals_ < 0) return;
  thread_.request_stop();
  raise_event(ends_);
  thread_.join();
  for (const int descriptor : {signals_, told_, ends_}) ::close(descriptor);
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

void SignalWatch::hold() {
  const std::lock_guard lock(mutex_);
  is_held_ = true;
}

void SignalWatch::let_go() {
  const std::lock_guard lock(mutex_);
  is_held_ = false;
}

std::stop_token SignalWatch::token() {
  const std::lock_guard lock(mutex_);
  return source_.get_token();
}

void SignalWatch::renew() {
  const std::lock_guard lock(mutex_);
  source_ = std::stop_source();
  caught_ = 0;
  std::uint64_t count = 0;
  // Nothing to read: nothing was told.
  if (told_ < 0) return;
  [[maybe_unused]] const auto forgotten = ::read(told_, &count, sizeof count);
}

void SignalWatch::take(int signal) {
  const std::lock_guard lock(mutex_);
  if (!is_held_) ::_exit(exit_by_signal + signal);
  const Uptime now = clock_.uptime();
  if (caught_ != 0) {
    if (now - caught_at_ >= one_moment) ::_exit(exit_by_signal + signal);
    return;
  }
  caught_ = signal;
  caught_at_ = now;
  raise_event(told_);
  source_.request_stop();
}

void SignalWatch::watch(const std::stop_token& stop) {
  std::array<pollfd, 2> events{};
  events[0].fd = signals_;
  events[1].fd = ends_;
  for (pollfd& event : events) event.events = POLLIN;
  while (!stop.stop_requested()) {
    if (::poll(events.data(), events.size(), -1) <= 0 || (events[0].revents & POLLIN) == 0)
      continue;
    signalfd_siginfo caught{};
    if (::read(signals_, &caught, sizeof caught) == sizeof caught) {
      take(static_cast<int>(caught.ssi_signo));
    }
  }
}

}  // namespace perdure::cli
