// For tools that run on a thread of their own: a stop reaches them a moment after it was asked for.

#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>

namespace perdure {

/// Waits for the stop; false if none comes in time.
inline bool was_stopped(const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  never.wait_for(lock, stop, std::chrono::minutes(5), [] { return false; });
  return stop.stop_requested();
}

}  // namespace perdure
