// What ends a turn before the agent is done.

#pragma once

#include <cstdint>
#include <optional>

#include "perdure/core/time.hpp"

namespace perdure {

/// Whoever runs a session again that a limit stopped begins with fresh limits; but whoever takes up
/// what a process left in the middle of a turn does not: its iterations and its time count. Money is
/// limited by the session's budget, over its whole life.
struct Limits {
  /// Responses of the model, from the last word of a user on.
  std::int64_t iterations = 50;
  /// Of a turn; empty: none. It stops a response that is being received and calls that run, as a
  /// caller's stop does. Only time counts in which a process runs the turn; of a process that was
  /// killed, that up to its last response.
  std::optional<Duration> time{};
  /// Responses in a row that were cut off, and asked for again.
  std::int64_t cut_offs = 2;
  /// The session is warned, once, when so much of its budget is used.
  std::int64_t warn_percent = 80;
  bool operator==(const Limits&) const = default;
};

/// How often a final answer is refused while the plan is unfinished.
inline constexpr std::int64_t plan_refusals_max = 2;

}  // namespace perdure
