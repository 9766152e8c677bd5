// What a session does by itself, and what it waits for.

#pragma once

#include <cstdint>
#include <functional>

#include "perdure/core/json.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/tool.hpp"

namespace perdure {

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

struct Policy {
  OnDoubt on_doubt = OnDoubt::ask;
  /// Whether a call needs somebody's word before its first attempt; empty: none does.
  std::function<bool(const Tool& tool, const Json& args)> needs_approval{};
  Cadence cadence{};
};

}  // namespace perdure
