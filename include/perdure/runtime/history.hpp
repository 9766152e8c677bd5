// The conversation as a provider may be sent it.
//
// A log may stop anywhere: between a call and its result, in the middle of a response.
// Providers refuse such a conversation. Here it is made whole by statements that are true,
// and always the same for the same log.

#pragma once

#include <vector>

#include "perdure/runtime/message.hpp"
#include "perdure/runtime/state.hpp"

namespace perdure {

/// Of the messages that come back:
/// - Every tool_call of an assistant's message has exactly one tool_result, in the message
///   right after it, before anything else there, in the order of the calls. A result that
///   is missing is a statement: the call was not started, or its outcome is unknown.
/// - No other message has a tool_call or a tool_result. Results without a call are dropped;
///   but where a call was answered by "in doubt" and its outcome came later, that outcome
///   is told as text in its place.
/// - A call and its result are paired by their turn, so an id that a provider uses in many
///   turns means another call in each. In one message ids are made different.
/// - Of a message that was cut off only the text is left, with a mark; never its reasoning or
///   its calls.
/// - None is empty.
/// All else is as it was said, in its order, each message with its id and time.
[[nodiscard]] std::vector<Message> well_formed(const State& state);

}  // namespace perdure
