// The machine's clocks.
//
// CLOCK_BOOTTIME and not CLOCK_MONOTONIC: the latter stands still while the
// machine sleeps, and a lease must not outlive a night with the lid closed.

#include <chrono>
#include <time.h>

#include "never_destroyed.hpp"
#include "perdure/core/time.hpp"
#include "require.hpp"

namespace perdure {

namespace {

Duration read(clockid_t clock) {
  timespec time{};
  require(clock_gettime(clock, &time) == 0, "the kernel has no clock that Perdure needs");
  // Floors, also before 1970: tv_nsec is never negative.
  return std::chrono::duration_cast<Duration>(std::chrono::seconds(time.tv_sec)) +
         Duration(time.tv_nsec / 1'000'000);
}

class SystemClock final : public Clock {
 public:
  [[nodiscard]] Timestamp now() const override { return Timestamp(read(CLOCK_REALTIME)); }
  [[nodiscard]] Uptime uptime() const override { return read(CLOCK_BOOTTIME); }
};

}  // namespace

Clock::~Clock() = default;

Clock& system_clock() {
  static NeverDestroyed<SystemClock> clock;
  return clock.value();
}

}  // namespace perdure
