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
#include "perdure/core/json.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/conversation.hpp"

namespace perdure::loop {

/// What a response does not say of itself.
struct AskedAs {
  std::string model{};    ///< As it was called when it was asked; it may call itself otherwise.
  bool has_price = true;  ///< What it cost is known.
  std::optional<Duration> used{};  ///< By the turn; empty: nobody counts.
  CountedBody counted{};           ///< Of the request; 0: the provider did not, or nobody pays.
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

/// For a person: why a response is no plain answer, in its provider's words; empty: it is one.
[[nodiscard]] std::string words_on_stop(const Message& message);

inline constexpr std::string_view plan_nudge = "plan";
inline constexpr std::string_view cut_off_nudge = "cut_off";

[[nodiscard]] Message nudge(std::string_view kind, std::string text);
/// What the nudge is about; empty: it is none.
[[nodiscard]] std::optional<std::string> nudge_of(const Message& message);

/// Whether somebody outside said something: a user, not a tool and not the loop.
[[nodiscard]] bool is_users_word(const Message& message);
[[nodiscard]] bool asks_for_calls(const Message& message);

}  // namespace perdure::loop
