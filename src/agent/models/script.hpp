// A script: what a model will have said, from a JSON text. Its form is in agent/providers.hpp.

#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "perdure/agent/provider.hpp"
#include "perdure/core/error.hpp"

namespace perdure {

struct ScriptedResponse {
  ModelResponse response{};
  bool has_usage = false;
  std::vector<NotAnswered> fails{};
  std::optional<std::string> cut_off{};
};

/// Fails: `invalid_argument`, with the place in the script.
[[nodiscard]] Result<std::vector<ScriptedResponse>> script_from_json(std::string_view text);

}  // namespace perdure
