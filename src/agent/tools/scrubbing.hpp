// What a tool answers, without the secrets in it.

#pragma once

#include "perdure/agent/secrets.hpp"
#include "perdure/runtime/tool.hpp"

namespace perdure {

[[nodiscard]] ToolOutcome scrubbed_outcome(ToolOutcome outcome, const SecretValues& values);
[[nodiscard]] Verdict scrubbed_verdict(Verdict verdict, const SecretValues& values);

}  // namespace perdure
