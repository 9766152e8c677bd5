// The parts of an agent file, from JSON that the schema has found to be right. What the schema cannot
// say is checked here.

#pragma once

#include <string_view>

#include "file/reading.hpp"
#include "perdure/agent/agent_file.hpp"

namespace perdure::agent_file {

[[nodiscard]] ModelSpec read_model(Reading& reading);

/// Also the roots, the secrets and the scratchpad, which belong to the tools.
void read_tools(Reading& reading, AgentFile& to);

/// Permissions, money, limits, and what is done in doubt.
void read_rules(Reading& reading, AgentFile& to);

/// A pattern with ".." would never fit, and what it was to deny or hide would be open.
void check_path_pattern(Reading& reading, std::string_view pointer, std::string_view key,
                        std::string_view pattern);

}  // namespace perdure::agent_file
