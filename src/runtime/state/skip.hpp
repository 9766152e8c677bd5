// Why the fold passes an entry over, and what a `replace` entry does to a list.

#pragma once

#include <optional>

#include "perdure/core/error.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/log.hpp"

namespace perdure::folding {

// Why an entry was passed over; empty if it was not.
using Skip = std::optional<SkipReason>;

[[nodiscard]] inline Skip because(const Error& error) {
  return error.code == ErrorCode::unsupported ? SkipReason::newer : SkipReason::unreadable;
}

template <class Part>
void begin(Part& part, const Entry& entry) {
  if (entry.fold == Fold::replace) part = Part{};
}

}  // namespace perdure::folding
