// A tool that its session answers.

#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "perdure/agent/toolbox.hpp"
#include "perdure/runtime/calls.hpp"

namespace perdure {

[[nodiscard]] inline ToolSpec answered_tool(std::string name, std::string description,
                                            std::string_view schema, AnswerFunction answer) {
  return {.tool = {.name = std::move(name),
                   .description = std::move(description),
                   .input_schema = std::string(schema),
                   .answer = std::move(answer)}};
}

}  // namespace perdure
