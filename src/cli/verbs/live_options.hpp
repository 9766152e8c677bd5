// Options of the verbs that run agents.

#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "command/command.hpp"
#include "perdure/core/error.hpp"

namespace perdure::cli {

/// --model, --provider, --base-url, --budget.
[[nodiscard]] std::vector<Option> model_options();
/// --agent, --accept-changes, --wait.
[[nodiscard]] std::vector<Option> take_up_options();

/// Millionths of a dollar; empty: the option is not given.
/// Fails: `invalid_argument`.
[[nodiscard]] Result<std::optional<std::int64_t>> dollars_option(const Invocation& given,
                                                                 std::string_view name);

}  // namespace perdure::cli
