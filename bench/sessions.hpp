// Sessions that commit turns as fast as the store lets them, and what that took.

#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "perdure/store/store.hpp"
#include "workload.hpp"

namespace perdure::bench {

/// The same in every run, so that a later process finds the session.
[[nodiscard]] SessionId session_id(std::size_t number);

[[noreturn]] void stop(const char* what, const Error& error);

template <class T>
T value_or_stop(const char* what, Result<T> result) {
  if (!result) stop(what, result.error());
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

/// Opens the store at `path`, or stops the process.
[[nodiscard]] std::unique_ptr<Store> open_or_stop(const std::string& path, Durability durability);

/// Creates `count` sessions from number `first` on and takes them for a worker.
[[nodiscard]] std::vector<Lease> start_sessions(Store& store, std::size_t first, std::size_t count);

struct Measured {
  std::vector<double>
      latency_us;  ///< Of each turn, session by session: from texts in hand to its receipt.
  double wall_s = 0;
  double cpu_s = 0;  ///< Of this process, user and system.
  std::uint64_t bytes = 0;
  std::uint64_t errors = 0;
  std::string first_error;
};

/// Each session commits `turns` turns, one after the other, on a thread of its own; the first one
/// on this thread. A session ends at its first error.
[[nodiscard]] Measured run_sessions(Store& store, const std::vector<Lease>& leases,
                                    const std::vector<Turn>& workload, std::size_t turns);

/// As pct() of bench.h picks it.
[[nodiscard]] double percentile(std::vector<double> values, double share);

}  // namespace perdure::bench
