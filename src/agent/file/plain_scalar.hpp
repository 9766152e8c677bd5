// What a word without quotes means in YAML: the part on which all its readers agree.

#pragma once

#include <optional>
#include <string_view>

#include "perdure/core/json.hpp"

namespace perdure::agent_file {

/// null, true, false, a number in plain decimal notation, or else text. Nothing for a word that one
/// version of YAML takes for text and another for something else, or two for two numbers: `no`,
/// `010`, `1e3`, `0x1f`, `1_000`, `12:30`, `.5`, `True`.
[[nodiscard]] std::optional<Json> plain_scalar(std::string_view word);

}  // namespace perdure::agent_file
