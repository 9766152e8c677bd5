// Who holds a session, in words: what a person needs to decide whether to wait.

#pragma once

#include <expected>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/store/store.hpp"

namespace perdure {

/// The error, with a message that says "held by worker W on H, process P, since T"; as it is if
/// nobody holds the session any more.
[[nodiscard]] std::unexpected<Error> name_holder(Store& store, const SessionId& session,
                                                 Error error);

}  // namespace perdure
