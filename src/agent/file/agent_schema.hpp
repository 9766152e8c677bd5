// The JSON Schema of agent files: docs/reference/agent.schema.json, as it was when this was compiled.

#pragma once

#include <string_view>

namespace perdure::agent_file {

[[nodiscard]] std::string_view agent_schema();

}  // namespace perdure::agent_file
