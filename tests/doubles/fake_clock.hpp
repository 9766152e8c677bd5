// A clock that moves when a test says so.
//
// Thread safety: every method may be called from any thread at any time.

#pragma once

#include <mutex>

#include "perdure/core/time.hpp"

namespace perdure {

class FakeClock final : public Clock {
 public:
  /// Starts at a wall time and an uptime that are not zero, so that a zero in a test is a mistake.
  FakeClock() = default;
  explicit FakeClock(Timestamp wall) : wall_(wall) {}

  [[nodiscard]] Timestamp now() const override {
    const std::lock_guard lock(mutex_);
    return wall_;
  }

  [[nodiscard]] Uptime uptime() const override {
    const std::lock_guard lock(mutex_);
    return uptime_;
  }

  /// Moves both clocks, as time does.
  void advance(Duration by) {
    const std::lock_guard lock(mutex_);
    wall_ += by;
    uptime_ += by;
  }

  /// Moves the wall clock alone, either way, as a person or NTP does.
  void set_wall(Timestamp wall) {
    const std::lock_guard lock(mutex_);
    wall_ = wall;
  }

 private:
  mutable std::mutex mutex_;
  Timestamp wall_{std::chrono::sys_days{std::chrono::year{2026} / 1 / 1}};
  Uptime uptime_{std::chrono::hours{1}};
};

}  // namespace perdure
