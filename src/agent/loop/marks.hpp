// What the loop writes on messages, so that whoever resumes knows what they were.
//
// A response has the member `response`: why it stopped, which model answered, the provider's ids.
// A message by which the loop itself talks to the model has the member `nudge`. Both ride among
// the members that a message does not know; no provider is sent them.

#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "perdure/agent/provider.hpp"
#include "perdure/runtime/message.hpp"

namespace perdure::loop {

/// The response's message, marked.
[[nodiscard]] Message marked(const ModelResponse& response);
/// Empty: it has no mark.
[[nodiscard]] std::optional<StopReason> stop_of(const Message& message);

inline constexpr std::string_view plan_nudge = "plan";
inline constexpr std::string_view cut_off_nudge = "cut_off";

[[nodiscard]] Message nudge(std::string_view kind, std::string text);
/// What the nudge is about; empty: it is none.
[[nodiscard]] std::optional<std::string> nudge_of(const Message& message);

/// Whether somebody outside said something: a user, not a tool and not the loop.
[[nodiscard]] bool is_users_word(const Message& message);
[[nodiscard]] bool asks_for_calls(const Message& message);

}  // namespace perdure::loop
