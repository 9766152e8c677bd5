// What a model is given before the conversation: a session resumes with it, not only
// with the messages.
//
// Its JSON is `{"system_prompt", "model", "parameters", "tools": [{"name", "description",
// "input_schema"}]}`. Parameters and schemas are kept byte for byte: a provider's cache
// is found by them.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/raw_json.hpp"
#include "perdure/runtime/message.hpp"

namespace perdure {

/// A tool as the model is told of it.
struct ToolDefinition {
  std::string name{};
  std::string description{};
  RawJson input_schema = RawJson::from_value(Json::Object{});
  Unknown unknown{};
  bool operator==(const ToolDefinition&) const = default;
};

struct Setup {
  std::string system_prompt{};
  std::string model{};
  RawJson parameters = RawJson::from_value(Json::Object{});
  std::vector<ToolDefinition> tools{};
  Unknown unknown{};
  bool operator==(const Setup&) const = default;
};

[[nodiscard]] std::string to_json(const Setup& setup);

/// Fails: `invalid_argument` for text that is no setup; `unsupported` for a newer version.
[[nodiscard]] Result<Setup> setup_from_json(std::string_view text);

}  // namespace perdure
