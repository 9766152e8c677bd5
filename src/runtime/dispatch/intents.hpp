// The calls that a response asks for, written down before any of them acts.

#pragma once

#include <cstdint>
#include <vector>

#include "dispatch/calls.hpp"
#include "perdure/runtime/conversation.hpp"
#include "perdure/store/log.hpp"
#include "writer/draft.hpp"
#include "writer/session_writer.hpp"

namespace perdure::dispatch {

/// Adds an intent for each tool_call of the response, which is the draft's entry at `message`.
/// One that must not be made (Policy::permit) or cannot be (no such tool, arguments that are no JSON object or lack what names the
/// operation) is refused at once, and the model told why. Returns the others, in order; where the
/// policy threw, the call is only intended.
[[nodiscard]] std::vector<CallView> intend(SessionWriter& writer, Draft& draft, Position message,
                                           const Message& response);

/// Adds the intent of one call, and its row in the ledger: for that block of the message, otherwise
/// as the view has it. The view then has the intent's position.
void write_down(Draft& draft, CallView& view, Position message, std::uint64_t block);

}  // namespace perdure::dispatch
