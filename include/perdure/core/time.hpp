// The two clocks of Perdure, and time as text.
//
// Wall time is for people: it may jump, and nothing is decided by it. Uptime decides about leases:
// it never goes back and counts while the machine sleeps. A Clock is a constructor argument of
// everything that needs the time, so that a test can own it.

#pragma once

#include <chrono>
#include <string>

namespace perdure {

using Duration = std::chrono::milliseconds;

/// A moment of the wall clock (UTC, without leap seconds).
using Timestamp = std::chrono::sys_time<Duration>;

/// Time since the machine started, sleep included.
using Uptime = Duration;

/// Thread safety: any thread, any time. If one throws, time continues from its last answer.
class Clock {
 public:
  virtual ~Clock();

  [[nodiscard]] virtual Timestamp now() const = 0;
  [[nodiscard]] virtual Uptime uptime() const = 0;
};

/// The machine's own clocks (CLOCK_REALTIME, CLOCK_BOOTTIME). Lives for ever.
[[nodiscard]] Clock& system_clock();

/// `2026-11-15T16:13:55.123Z`: always UTC, always milliseconds, so texts of the years 0000 to 9999
/// sort as their times do. Any other year has a sign and at least six digits (`+012026-…`).
[[nodiscard]] std::string to_iso8601(Timestamp time);

}  // namespace perdure
