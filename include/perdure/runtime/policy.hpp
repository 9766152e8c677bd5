// What a session does by itself, and what it waits for.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <variant>

#include "perdure/core/time.hpp"
#include "perdure/runtime/calls.hpp"
#include "perdure/runtime/conversation.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/log.hpp"

namespace perdure {

struct State;

/// About a call of which nobody can tell whether it took effect.
enum class OnDoubt : std::uint8_t {
  ask,  ///< The session waits until somebody resolves it.
  /// The model is told that the outcome is unknown, and goes on; further calls of that tool are
  /// refused until it is resolved (Tool::blocking).
  tell_model,
};

/// When a session names its head by itself. Whatever is chosen, everything committed is there
/// after a crash of the process, and intents are always synced.
struct Cadence {
  enum class At : std::uint8_t {
    turn,    ///< At the end of every turn.
    call,    ///< After every call as well.
    period,  ///< At the end of a turn once `turns` or `time` have passed; what lies between is
             ///< synced with the next intent, or then.
  };
  At at = At::turn;
  std::int64_t turns = 10;
  Duration time{60'000};
};

/// A call that a response asks for.
struct ProposedCall {
  const Message& response;
  std::size_t block = 0;  ///< Which of its blocks; a tool_call.
  /// Of the response; 0: it is about to be recorded, after all of the state.
  Position message = 0;
  const Tool* tool = nullptr;  ///< Of that name; null: the session has none.

  [[nodiscard]] const ToolCallBlock& call() const {
    return std::get<ToolCallBlock>(response.blocks[block]);
  }
};

struct Policy {
  OnDoubt on_doubt = OnDoubt::ask;
  /// Whether a call may be made; empty: every call may. Asked when the response is recorded, also about
  /// unknown tools and arguments that are not JSON; the answer is recorded with the call's intent. Asked
  /// again before each dispatch after that, where it may only narrow what is recorded: what is denied
  /// since is not run, and a call that needed approval still needs it. If it throws, the call waits
  /// unmade, and run_calls fails until it does not.
  std::function<PermitDecision(const State& state, const ProposedCall& call)> permit{};
  Cadence cadence{};
  /// A tool that is asked to stop, by whoever runs the calls or because its time is over, is waited
  /// for so long; then its call is in doubt, until it comes back.
  Duration stop_patience{10'000};
};

}  // namespace perdure
