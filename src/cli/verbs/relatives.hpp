// Sessions that only go together, and how to say so.

#pragma once

#include <expected>

#include "perdure/core/error.hpp"

namespace perdure::cli {

/// If it is for want of a relative that a session cannot go: how that is taken along.
[[nodiscard]] std::unexpected<Error> with_hint_of_relatives(Error error, bool is_asked_for);

}  // namespace perdure::cli
