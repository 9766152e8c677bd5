// A store with much to forget, and the steps that forget it. Each step may be cut off
// anywhere and done again.

#pragma once

#include <functional>
#include <string>

#include "doubles/fake_clock.hpp"
#include "perdure/store/store.hpp"

namespace perdure {

/// Sessions with versions, superseded values, a branch, forks, calls, messages, blobs.
void fill(Store& store, FakeClock& clock);

/// Prunes, forgets, erases, removes, collects and vacuums. What was done before, wholly
/// or in part, is not an error. Returns the first error there is.
[[nodiscard]] Result<void> forget_all(Store& store, FakeClock& clock,
                                      const std::function<void(const std::string&)>& done);

/// What no step may change: what each kept point shows, the totals, the keys that are held.
[[nodiscard]] std::string lasting(Store& store);

}  // namespace perdure
