// An agent that this process runs, and one turn of it from its input to its last line.

#pragma once

#include <memory>
#include <optional>
#include <string>

#include "desk.hpp"
#include "exit.hpp"
#include "live/signal_watch.hpp"
#include "live/turn_end.hpp"
#include "perdure/agent/agent.hpp"
#include "perdure/agent/agent_file.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/runtime/conversation.hpp"
#include "perdure/store/store.hpp"
#include "world.hpp"

namespace perdure::cli {

/// What belongs to this machine alone: $XDG_STATE_HOME/perdure.
[[nodiscard]] std::string state_folder(const World& world);
/// Makes it, for its owner alone whatever the umask says, also if it was there with other rights.
/// Fails: `unavailable` about "authority" if it is another user's.
[[nodiscard]] Result<void> make_state_folder(const World& world);

/// What a list of sessions shows of the words that one began with.
[[nodiscard]] std::string opening_of(const std::string& prompt);

/// Its programs keep what they leave running on record in the state folder.
/// Fails: about "authority" if its key is not there; as make_agent_spec; as Agent::start.
[[nodiscard]] Result<std::unique_ptr<Agent>> start_agent(Desk& desk, Store& store,
                                                         const AgentFile& file);

/// A session with its store, and what may stop it.
struct LiveSession {
  Store& store;
  AgentSession& agent;
  SignalWatch& signals;
};

/// One turn, watched in the form that was asked for. A session whose agent has answered is ended as
/// `completed`, if `ends`.
[[nodiscard]] TurnEnd play_turn(Desk& desk, const LiveSession& live, std::optional<Message> input,
                                bool ends);

/// Tells how it ended, in the form that was asked for; `rest` are further members of the document.
[[nodiscard]] Exit close_turn(Desk& desk, const LiveSession& live, const TurnEnd& end,
                              Json::Object rest);

}  // namespace perdure::cli
