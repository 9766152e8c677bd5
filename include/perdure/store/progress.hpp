// How long work tells how far it has come, and is told to stop.

#pragma once

#include <cstdint>
#include <functional>

namespace perdure {

struct Step {
  std::uint64_t done = 0;
  std::uint64_t total = 0;  ///< As far as known now; it may still rise.
};

/// Called between slices of work, on the caller's thread, with nothing locked. Return false to stop: what
/// was done stays done, and the work returns as if finished. Throwing stops it with `unavailable`.
using Progress = std::function<bool(const Step&)>;

}  // namespace perdure
