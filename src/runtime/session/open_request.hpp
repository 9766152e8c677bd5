// A request that ends without a response.

#pragma once

#include <string>

#include "perdure/core/error.hpp"
#include "perdure/runtime/budget.hpp"
#include "session/draft.hpp"
#include "session/held_session.hpp"

namespace perdure {

struct RequestEnd {
  std::string why{};
  /// It was sent, or nobody knows whether it was: what it reserved counts as spent.
  bool may_be_paid = false;
};

/// Adds the end of the request that is open. `budget`: as it is when the draft gets there.
/// Fails: as enter.
[[nodiscard]] Result<void> add_end_of_request(Draft& draft, const HeldSession& held, Budget& budget,
                                              const RequestEnd& end);

}  // namespace perdure
