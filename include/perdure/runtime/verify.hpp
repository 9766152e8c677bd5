// Asking about one call that is in doubt, without doing anything else: for a person who wants to know
// before the session goes on. A resume asks by itself where that decides what is done.

#pragma once

#include "perdure/core/error.hpp"
#include "perdure/runtime/session.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/log.hpp"

namespace perdure {

/// Asks the tool of the call whether it took effect, and records what it says. A call that did has
/// ended, with the result that was found. Of any other it is only noted: one that did not is made
/// again by Session::run_calls, which asks anew and knows whether an earlier attempt may still land.
/// Fails: `not_found` if no such call is open; `conflict` if it is not in doubt, or its attempt still
/// runs; `unsupported` if its tool cannot be asked; as Store::commit.
[[nodiscard]] Result<Verdict> verify_call(Session& session, Position call);

}  // namespace perdure
