// How long somebody may still wait for a server.
//
// Always the machine's own uptime, also where a store was given a clock: a test that owns the time
// does not own the network.

#pragma once

#include <algorithm>
#include <chrono>

#include "perdure/core/time.hpp"

namespace perdure::postgres {

class Deadline {
 public:
  /// Nothing here waits longer than a day, whatever it was told.
  explicit Deadline(Duration wait)
      : at_(system_clock().uptime() + std::clamp(wait, Duration(0), longest)) {}

  [[nodiscard]] Duration left() const {
    return std::max(at_ - system_clock().uptime(), Duration(0));
  }
  [[nodiscard]] bool is_over() const { return left() == Duration(0); }

 private:
  static constexpr Duration longest = std::chrono::hours(24);

  Uptime at_;
};

}  // namespace perdure::postgres
