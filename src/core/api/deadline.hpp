// When a wait ends, by the machine's clock: a pause may take longer than it says.

#pragma once

#include <algorithm>
#include <chrono>

#include "perdure/core/time.hpp"

namespace perdure {

class Deadline {
 public:
  /// A day from now at most. The clock must outlive this.
  explicit Deadline(Duration wait, const Clock& clock = system_clock())
      : clock_(&clock), at_(clock.uptime() + std::clamp(wait, Duration(0), longest)) {}

  [[nodiscard]] Duration left() const { return std::max(at_ - clock_->uptime(), Duration(0)); }
  [[nodiscard]] bool is_over() const { return left() == Duration(0); }

 private:
  static constexpr Duration longest = std::chrono::hours(24);

  const Clock* clock_;
  Uptime at_;
};

}  // namespace perdure
