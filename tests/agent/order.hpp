// A chair is ordered.

#pragma once

#include <cstddef>
#include <string_view>

#include "agent/task.hpp"

namespace perdure::agents {

inline constexpr std::size_t order_responses = 6;
/// The operation that cannot be verified.
inline constexpr std::string_view unsafe_op = "carrier-1";

/// Two looks at once; a reservation and a payment; a call to the carrier, which nobody can verify;
/// the payment again in other words, and a mail; a booking; an answer.
[[nodiscard]] const Task& order_task();

}  // namespace perdure::agents
