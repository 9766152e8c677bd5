// Ctrl-C and SIGTERM, while an agent runs: the first asks the turn to stop, which records what came
// so far; the second leaves at once, which loses nothing that is in the log. Signals that come within
// a moment are one asking: timeout(1) signals its program, and then the group that it is in. As long
// as there is nothing to put in order (a store that is locked, a session that another process has),
// the first leaves.
//
// The signals are blocked for the whole process and read by a thread: nothing runs in a handler. So
// it is to be made before any other thread is.

#pragma once

#include <atomic>
#include <csignal>
#include <mutex>
#include <stop_token>
#include <thread>

#include "perdure/core/time.hpp"

namespace perdure::cli {

class SignalWatch {
 public:
  /// `is_on` false: signals do what they do anyway.
  explicit SignalWatch(bool is_on, const Clock& clock = system_clock());
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

  /// From now on the first signal does not leave: there is a turn to stop, or a terminal to give back.
  void hold();
  /// It does again.
  void let_go();
  /// For one turn.
  [[nodiscard]] std::stop_token token();
  /// Forgets what was caught: another turn begins.
  void renew();
  /// The signal that was caught; 0: none.
  [[nodiscard]] int caught() const { return caught_; }
  /// Readable once a signal was caught that is not forgotten; -1 if it is off.
  [[nodiscard]] int descriptor() const { return told_; }

 private:
  void watch(const std::stop_token& stop);
  void take(int signal);

  int signals_ = -1;  ///< A signalfd.
  int told_ = -1;     ///< An eventfd, as is:
  int ends_ = -1;
  sigset_t before_{};
  const Clock& clock_;
  std::atomic<int> caught_ = 0;
  Uptime caught_at_{};
  bool is_held_ = false;
  std::mutex mutex_;  ///< Of what was caught, and the source.
  std::stop_source source_;
  std::jthread thread_;
};

}  // namespace perdure::cli
