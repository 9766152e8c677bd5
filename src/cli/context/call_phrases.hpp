// A call in what people read, and may copy.

#pragma once

#include <string>
#include <string_view>

#include "context/command_context.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"

namespace perdure::cli {

/// "SES:12", as the context shows ids.
[[nodiscard]] std::string shown_call(const CommandContext& context, const Call& call);

/// The command that settles a call in doubt.
[[nodiscard]] std::string settle_command(const CommandContext& context, std::string_view call);

/// The command that allows a call that was not made yet, or answers what it asks.
[[nodiscard]] std::string allow_command(const CommandContext& context, std::string_view tool,
                                        std::string_view call);

/// What somebody is asked to allow or to answer: a question's words, or a call with all its arguments.
/// Empty if nobody can tell any more.
[[nodiscard]] std::string asked_words(const State& state, Position call);

/// Of a tool whose calls are questions to people.
[[nodiscard]] bool asks_people(std::string_view tool);

}  // namespace perdure::cli
