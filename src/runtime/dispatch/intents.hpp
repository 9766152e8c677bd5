// The calls that a session is to make, written down before any of them acts: those that a response asks
// for, and those of the step at which a new line begins, a fork's or that of a session that goes back.
//
// The last response there asks for them, and the line has no outcome of them. A session makes only
// calls that it issued itself, so what another one issued becomes a call of its own, or is told of.

#pragma once

#include <cstddef>
#include <vector>

#include "dispatch/calls.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/runtime/conversation.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/store.hpp"
#include "runtime/api/state_details.hpp"
#include "writer/session_writer.hpp"

namespace perdure::dispatch {

/// Adds an intent for each tool_call of the response, which is the draft's entry at `message`.
/// One that must not be made (Policy::permit) or cannot be (no such tool, arguments that are not a JSON
/// object or lack what names the operation) is refused at once, and the model told why. Returns the
/// others, in order; where the policy threw, the call is only intended.
[[nodiscard]] std::vector<CallView> intend(SessionWriter& writer, Draft& draft, Position message,
                                           const Message& response);

/// How many calls the message asks for.
[[nodiscard]] std::size_t count_calls(const Message& message);

/// The state as of the point; if a response stands there and its intents follow, with these: they are
/// one commit, and what became of the calls is found by them. `prefers_own`, for a session that goes
/// back: with its own intents, if it has made the calls of a response that it shares.
/// Fails: as read_state; as the ledger's readers.
[[nodiscard]] Result<State> read_whole_step(Store& store, const SessionId& session, Point point,
                                            bool prefers_own = false);

/// What a fork that begins with that state of the session does about the calls of its last response,
/// in their order, as their rows are now. A row may change right after: the new call claims its key
/// like any other, so what is done once is done once.
/// Fails: as the ledger's readers.
[[nodiscard]] Result<std::vector<CarriedCall>> carried_calls(Store& store, const SessionId& session,
                                                             const State& state,
                                                             bool fresh_effects);

/// Adds that to the draft, which is the first of its line; the calls then have their positions.
/// `fresh`: whose effects are done once from here on, if that is not as in the state.
/// Fails: as Log::read.
[[nodiscard]] Result<void> carry(SessionWriter& writer, Draft& draft, const State& state,
                                 std::vector<CarriedCall>& calls, const Origin* fresh);

/// The same for a session that goes back to that state. Its own calls stay what they are; of those of
/// another session, what came of them is told, and only what was never begun is made.
/// Fails: as carried_calls; as Log::read.
[[nodiscard]] Result<void> carry_back(SessionWriter& writer, Draft& draft, const State& state);

}  // namespace perdure::dispatch
