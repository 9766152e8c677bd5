// Ctrl-C, SIGTERM and SIGHUP (taken for SIGTERM: the terminal is gone). While an agent runs, the
// first asks the turn to stop, which records what came so far; the second leaves at once, which loses
// nothing that is in the log. Signals that come within a moment are one asking: timeout(1) signals its
// program, and then the group that it is in. As long as there is nothing to put in order (a store that
// is locked, a session that another process has), the first leaves. A turn that does not stop is left
// too, after a while: what hangs in the network or in the kernel must not keep the program.
//
// The signals are blocked for the whole process and read by a thread: nothing runs in a handler. So
// main makes it before any other thread begins: one that does not block them would be ended by them,
// and all others with it.

#pragma once

#include <atomic>
#include <chrono>
#include <csignal>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>

#include "perdure/core/time.hpp"

namespace perdure::cli {

class SignalWatch {
 public:
  /// Longer than a tool that is asked to stop may take (Policy::stop_patience, and to be killed).
  static constexpr Duration usual_patience = std::chrono::seconds(30);

  /// Off: signals do what they do anyway.
  SignalWatch() : SignalWatch(std::nullopt, system_clock()) {}
  /// `patience`: how long what was asked to stop may take.
  explicit SignalWatch(const Clock& clock, Duration patience = usual_patience)
      : SignalWatch(std::optional(patience), clock) {}
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

  /// From now on the first signal does not leave: there is a turn to stop, or a terminal to give back.
  void hold();
  /// It does again. One that was caught meanwhile stays caught. Whether it was held.
  bool let_go();
  /// For one turn.
  [[nodiscard]] std::stop_token token();
  /// The signal that was caught, which is forgotten: another turn begins. 0: none.
  int renew();
  /// The signal that was caught, SIGINT or SIGTERM; 0: none.
  [[nodiscard]] int caught() const { return caught_; }
  /// Readable once a signal was caught that is not forgotten; -1 if it is off.
  [[nodiscard]] int descriptor() const { return told_; }
  /// For a program that takes this one's place: signals do to this thread what they did before.
  void unblock();
  void block_again();

 private:
  SignalWatch(std::optional<Duration> patience, const Clock& clock);

  void watch(const std::stop_token& stop);
  /// As poll takes it; -1: there is nothing to wait for. Leaves if what was asked to stop did not.
  [[nodiscard]] int wait_ms() const;
  void take(int signal);

  int signals_ = -1;  ///< A signalfd.
  int told_ = -1;     ///< An eventfd, as is:
  int ends_ = -1;
  sigset_t before_{};
  sigset_t watched_{};
  const Clock& clock_;
  const Duration patience_;
  std::atomic<int> caught_ = 0;
  Uptime caught_at_{};
  bool is_held_ = false;
  mutable std::mutex mutex_;  ///< Of what was caught, and the source.
  std::stop_source source_;
  std::jthread thread_;
};

}  // namespace perdure::cli
