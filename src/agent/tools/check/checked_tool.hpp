// A tool of a toolbox with its schema compiled.

#pragma once

#include "perdure/agent/tools.hpp"
#include "agent/api/json_schema.hpp"

namespace perdure {

struct CheckedTool {
  ToolSpec spec{};
  JsonSchema schema;
};

}  // namespace perdure
