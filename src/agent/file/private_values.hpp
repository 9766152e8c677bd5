// What no answer of an agent's tools may hold: its key, its secrets, and what a tool is passed that
// looks like one.

#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "perdure/agent/agent_file.hpp"
#include "perdure/agent/agent_parts.hpp"
#include "perdure/agent/secrets.hpp"
#include "perdure/core/error.hpp"

namespace perdure::agent_file {

/// For without_secrets. `pass_env`: what the tool is passed.
[[nodiscard]] std::function<Result<SecretValues>()> private_values(
    const AgentFile& file, const AgentPlace& place, const std::vector<std::string>& pass_env);

/// Whether a variable of the environment is taken for a secret. By its name, if that has KEY, TOKEN,
/// SECRET, PASS, CREDENTIAL or AUTH in it; otherwise if its value has 8 bytes or more, not letters
/// only, and is no path that is there, nor the variable one that everybody has (HOME, LANG ...).
[[nodiscard]] bool is_like_a_secret(std::string_view name, const std::string& value);

}  // namespace perdure::agent_file
