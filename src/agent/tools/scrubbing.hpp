// What a tool answers, without the secrets in it.

#pragma once

#include <functional>

#include "perdure/agent/secrets.hpp"
#include "perdure/core/error.hpp"
#include "perdure/runtime/calls.hpp"
#include "perdure/runtime/tool.hpp"

namespace perdure {

[[nodiscard]] ToolOutcome scrubbed_outcome(ToolOutcome outcome, const SecretValues& values);
[[nodiscard]] Verdict scrubbed_verdict(Verdict verdict, const SecretValues& values);
/// Tells `progress` each line without the secrets of that moment, nor a line of one that has several.
[[nodiscard]] ToolProgress scrubbed_progress(const ToolProgress& progress,
                                             std::function<Result<SecretValues>()> values);

}  // namespace perdure
