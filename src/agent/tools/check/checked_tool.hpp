// A tool of a toolbox with its schema compiled.

#pragma once

#include "agent/api/json_schema.hpp"
#include "perdure/agent/tools.hpp"

namespace perdure {

struct CheckedTool {
  ToolSpec spec{};
  JsonSchema schema;
};

}  // namespace perdure
