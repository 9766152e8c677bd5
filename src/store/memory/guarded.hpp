// A value and the lock that protects it, as one object: the value cannot be
// reached without the lock. In a child of fork(2) the lock may be held by a thread that is not there:
// work that can fail does so instead.

#pragma once

#include <algorithm>
#include <chrono>
#include <concepts>
#include <condition_variable>
#include <expected>
#include <mutex>
#include <type_traits>
#include <utility>

#include "perdure/core/error.hpp"
#include "perdure/core/own_process.hpp"
#include "perdure/core/time.hpp"

namespace perdure::memory {

template <class T>
class Guarded {
 public:
  /// Calls `work` with the value, alone, and returns what it returns. No reference
  /// to the value may outlive it.
  template <class Work>
  auto with(Work&& work) -> std::invoke_result_t<Work, T&> {
    if constexpr (can_fail<std::invoke_result_t<Work, T&>>) {
      if (auto here = process_.check(); !here) return forward(here);
    }
    auto result = [&] {
      const std::scoped_lock lock(mutex_);
      return std::forward<Work>(work)(value_);
    }();
    changed_.notify_all();
    return result;
  }

  /// Sleeps until `is_met` says so of the value, at most for `timeout`; then as `with`.
  template <class Predicate, class Work>
  auto wait(Duration timeout, Predicate&& is_met, Work&& work) -> std::invoke_result_t<Work, T&> {
    if (auto here = process_.check(); !here) return forward(here);
    // The standard library adds the timeout to its clock, and that must not overflow.
    constexpr Duration century = std::chrono::years(100);
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::clamp(timeout, Duration(0), century),
                      [&] { return is_met(value_); });
    return std::forward<Work>(work)(value_);
  }

 private:
  template <class Outcome>
  static constexpr bool can_fail = std::constructible_from<Outcome, std::unexpected<Error>>;

  const OwnProcess process_;
  std::mutex mutex_;
  std::condition_variable changed_;
  T value_;
};

}  // namespace perdure::memory
