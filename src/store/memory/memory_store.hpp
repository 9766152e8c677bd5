// A store that lives and dies with its object: the reference model of the
// contract, and what tests compare other backends with.

#pragma once

#include <memory>

#include "perdure/core/error.hpp"
#include "perdure/store/store.hpp"

namespace perdure {

/// A new, empty store.
/// Fails: `not_found` if `create` is off: no memory store is ever there already.
[[nodiscard]] Result<std::unique_ptr<Store>> open_memory(const OpenOptions& options);

}  // namespace perdure
