// Who holds a session, in words: what a person needs to decide whether to wait.

#pragma once

#include <expected>
#include <string>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/store/store.hpp"

namespace perdure {

/// This machine's name, as workers tell it.
[[nodiscard]] std::string machine_name();

/// The error, with a message that says "held by worker W on H, process P, since T", or that it is
/// this process; as it is if nobody holds the session any more.
[[nodiscard]] std::unexpected<Error> name_holder(Store& store, const SessionId& session,
                                                 Error error);

}  // namespace perdure
