// The filter line of `sessions`: words that all must fit.
//
//   state:interrupted  tag:prod  title:refund*  tokens:>20000  cost:>0.5  turns:<3  steps:>100
//   active:<2h (last change)  age:>7d (creation)  "gift card" (in title or opening)
//   agent:refunds (the name of its file without .yaml, or its model)
//
// A dash in front means "not": -tag:test.

#pragma once

#include <functional>
#include <string>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/sessions.hpp"

namespace perdure::cli {

using SessionTest = std::function<bool(const SessionSummary&)>;

/// Each argument may hold several words; one with spaces stands in double quotes.
/// Fails: `invalid_argument`, with the words there are.
[[nodiscard]] Result<SessionTest> filter_from(const std::vector<std::string>& arguments,
                                              Timestamp now);

}  // namespace perdure::cli
