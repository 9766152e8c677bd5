// What the loop writes on messages, so that a resume knows what they were.
//
// A response has the member `response`: why it stopped, which model answered, the provider's ids.
// A message by which the loop itself talks to the model has the member `nudge`. Both ride among
// the members that a message does not know; no provider is sent them.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "perdure/agent/agent.hpp"
#include "perdure/agent/provider.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/log.hpp"

namespace perdure::loop {

/// What a response does not say of itself.
struct AskedAs {
  std::string model{};    ///< As it was called when it was asked; it may call itself otherwise.
  bool has_price = true;  ///< What it cost is known.
  std::optional<Duration> used{};  ///< By the turn; empty: it is not counted.
  CountedBody counted{};           ///< Of the request; 0: the provider did not, or it is free.
};

/// The response's message, marked.
[[nodiscard]] Message marked(const ModelResponse& response, const AskedAs& asked);
/// The model that was asked; empty: it has no mark of it.
[[nodiscard]] std::string asked_model_of(const Message& message);
/// Whether what it cost is not known, and counted as nothing.
[[nodiscard]] bool is_unpriced(const Message& message);
/// 0: it does not say, or nothing that makes sense.
[[nodiscard]] CountedBody counted_in(const Message& message);
/// What a mark calls that time, in milliseconds.
inline constexpr std::string_view used_member = "used_ms";
/// 0: it does not say.
[[nodiscard]] Duration used_in(const Message& message);
[[nodiscard]] Duration used_in(const Json& mark);
/// Empty: it has no mark.
[[nodiscard]] std::optional<StopReason> stop_of(const Message& message);

/// For a person: why a response is not a plain answer, in its provider's words; empty: it is one.
[[nodiscard]] std::string words_on_stop(const Message& message);

inline constexpr std::string_view plan_nudge = "plan";
inline constexpr std::string_view cut_off_nudge = "cut_off";

[[nodiscard]] Message nudge(std::string_view kind, std::string text);
/// What the nudge is about; empty: it is none.
[[nodiscard]] std::optional<std::string> nudge_of(const Message& message);

/// Whether the message is from outside: from a user, not a tool and not the loop.
[[nodiscard]] bool is_users_word(const Message& message);
[[nodiscard]] bool asks_for_calls(const Message& message);

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

/// A value of the session: the last stop that calls for fresh limits.
inline constexpr std::string_view stop_channel = "agent_stop";

/// A value of the session: the time that an interrupted turn had used, as `used_member`.
inline constexpr std::string_view time_channel = "agent_time";

struct NextStep {
  std::optional<TurnStop> rest{};  ///< Empty: the model is to be asked.
  std::optional<Message> say{};    ///< With this, as input.
};

/// How often a final answer is refused while the plan is unfinished.
inline constexpr std::int64_t plan_refusals_max = 2;

/// A turn ends when the same call was refused so often.
inline constexpr std::size_t refusals_max = 3;

/// The call that a model repeats though it is not made, for whatever reason: responses one after
/// the other, of which no call was made, asked for the same one (name and arguments, as values)
/// refusals_max times. Null: there is none. Looks back to `since` and the last user message; a
/// response without calls, or one call that was made, ends it; what was cut off is skipped.
[[nodiscard]] const ToolCallBlock* refused_again_and_again(const State& state, Position since);

/// Of a state in which every call is answered.
[[nodiscard]] NextStep next_step(const State& state);

/// What next_step() will be once `response`, which is whole and asks for no calls, is recorded.
[[nodiscard]] NextStep step_after(const State& state, const Message& response);

/// Why the loop rests after `response`, for a person: what its provider said, or what is missing in
/// the plan. Empty: it is a plain answer.
[[nodiscard]] std::string words_on_rest(const State& state, TurnStop rest, const Message& response);

/// Responses since the last message of a user, or the last stop.
[[nodiscard]] std::int64_t iterations_of(const State& state);
/// The time that processes used since then, as far as they recorded it: with each response, and
/// when they were interrupted. Time in which no process ran the turn does not count.
[[nodiscard]] Duration time_of(const State& state);
/// Responses at the end, one after the other, that were cut off.
[[nodiscard]] std::int64_t cut_offs_of(const State& state);

}  // namespace perdure::loop
