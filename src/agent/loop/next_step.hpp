// What the loop does next, from the state alone: so it is the same after any death.
//
// The rules, by the last message:
//
//   none, or the system's alone   rest
//   a user's, a nudge             ask
//   results                       ask; if the same call was refused three times, rest: loop
//   a response
//     that refuses                rest: refused
//     cut off, with text          tell it so, and ask
//     cut off, without            ask again
//     paused by its provider      ask again
//     with calls                  ask: their results are there, or stated to be missing
//     with an unfinished plan     tell what is missing, and ask; the third time rest: incomplete_plan
//     any other                   rest: completed

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "perdure/agent/agent.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/conversation.hpp"
#include "perdure/runtime/state.hpp"

namespace perdure::loop {

/// A value of the session: the last stop that calls for fresh limits.
inline constexpr std::string_view stop_channel = "agent_stop";

/// A value of the session: the time that an interrupted turn had used, as `used_member`.
inline constexpr std::string_view time_channel = "agent_time";

struct NextStep {
  std::optional<TurnStop> rest{};  ///< Empty: the model is to be asked.
  std::optional<Message> say{};    ///< With this, as input.
};

/// Of a state in which every call is answered.
[[nodiscard]] NextStep next_step(const State& state);

/// What next_step() will be once `response`, which is whole and asks for no calls, is recorded.
[[nodiscard]] NextStep step_after(const State& state, const Message& response);

/// Why the loop rests after `response`, for a person: what its provider said, or what is missing in
/// the plan. Empty: it is a plain answer.
[[nodiscard]] std::string words_on_rest(const State& state, TurnStop rest, const Message& response);

/// Responses since the last word of a user, or the last stop.
[[nodiscard]] std::int64_t iterations_of(const State& state);
/// The time that processes used since then, as far as they recorded it: with each response, and when
/// they were interrupted. Time in which no process ran the turn does not count.
[[nodiscard]] Duration time_of(const State& state);
/// Responses at the end, one after the other, that were cut off.
[[nodiscard]] std::int64_t cut_offs_of(const State& state);

}  // namespace perdure::loop
