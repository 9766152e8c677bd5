// The checks before a call: exists, parses, valid, permitted, not looping; in that order, and
// before anything happens. Pure: the same call with the same history gets the same word.
//
// Each "no" is a JSON text for the model: `{"error", "tool", "message", …}`, where `error` is
// `unknown_tool`, `arguments_not_json`, `invalid_arguments`, `not_permitted` or `loop`.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "perdure/agent/permissions.hpp"
#include "perdure/agent/toolbox.hpp"
#include "perdure/core/json.hpp"
#include "perdure/runtime/conversation.hpp"
#include "perdure/runtime/state.hpp"

namespace perdure {

/// The third of so many is refused.
inline constexpr std::size_t identical_calls_max = 3;

/// A turn ends when the same call was refused so often.
inline constexpr std::size_t refusals_max = 3;

/// It may be made.
struct CallGo {
  Json args{};
};
/// It may be made once somebody allows it (Policy::needs_approval).
struct CallAsk {
  Json args{};
  std::string why{};
};
struct CallRefused {
  enum class By : std::uint8_t { name, syntax, schema, permission, loop };
  By by = By::name;
  std::string text{};  ///< JSON for the model: what is wrong and what to do.
};
using CallCheck = std::variant<CallGo, CallAsk, CallRefused>;

/// `in_a_row` is how often this call was asked for without another one between, itself included:
/// times_in_a_row().
[[nodiscard]] CallCheck check_call(const Toolbox& tools, const Permissions& permissions,
                                   const ToolCallBlock& call, std::size_t in_a_row);

/// How many calls with the same name and the same arguments, as values, end with block `block` of
/// the message at `message`: from the transcript, so that it is the same after a resume. Counts
/// to identical_calls_max, and from the last word of a user on.
[[nodiscard]] std::size_t times_in_a_row(const State& state, Position message, std::size_t block);
/// The same for a message that is about to be recorded, after all of the state.
[[nodiscard]] std::size_t times_in_a_row(const State& state, const Message& next,
                                         std::size_t block);

/// The call that a model repeats though it is not made, for whatever reason: responses one after the
/// other, of which no call was made, asked for the same one (name and arguments, as values)
/// refusals_max times. Null: there is none. Looks back to `since` and to the last word of a user; a
/// response without calls, or one call that was made, ends it; what was cut off is passed over.
[[nodiscard]] const ToolCallBlock* refused_again_and_again(const State& state, Position since);

}  // namespace perdure
