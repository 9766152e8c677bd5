// A request that ends without a response.

#pragma once

#include <string>

#include "perdure/core/error.hpp"
#include "perdure/runtime/calls.hpp"
#include "perdure/runtime/session_values.hpp"
#include "perdure/store/store.hpp"
#include "session/draft.hpp"

namespace perdure {

struct RequestEnd {
  std::string why{};
  /// It was sent, or nobody knows whether it was: what it reserved counts as spent.
  bool may_be_paid = false;
};

/// Adds the end of the request. `budget`: as it is when the draft gets there.
/// Fails: as enter.
[[nodiscard]] Result<void> add_end_of_request(Draft& draft, const Request& request, Budget& budget,
                                              const RequestEnd& end);

}  // namespace perdure
