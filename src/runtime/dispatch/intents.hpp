// The calls that a response asks for, written down before any of them acts.

#pragma once

#include <vector>

#include "dispatch/view.hpp"
#include "perdure/runtime/message.hpp"
#include "perdure/store/entry.hpp"
#include "session/draft.hpp"
#include "session/held_session.hpp"

namespace perdure::dispatch {

/// Adds an intent for each tool_call of the response, which is the draft's entry at `message`.
/// One that must not be made (Policy::refuse) or cannot be (no such tool, arguments that are no JSON object or lack what names the
/// operation) is refused at once, and the model told why. Returns the others, in order; where the
/// policy threw, the call is only intended.
[[nodiscard]] std::vector<CallView> intend(HeldSession& held, Draft& draft, Position message,
                                           const Message& response);

}  // namespace perdure::dispatch
