// Reading a session's line from its beginning, a page at a time.

#pragma once

#include <functional>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/store/entry.hpp"
#include "perdure/store/point.hpp"
#include "perdure/store/store.hpp"

namespace perdure {

/// Hands every entry up to the point to `take`, each once, in order; needs no lease. The head is
/// the one there was when it began: between two pages the owner may leave the line.
/// Fails: as Log::read; as `take`.
[[nodiscard]] Result<void> read_line(Store& store, const SessionId& session, Point as_of,
                                     const std::function<Result<void>(Entry&)>& take);

}  // namespace perdure
