// The environment of a program, as whoever stands at its edge passes it on: nothing below reads its
// own.

#pragma once

#include <functional>
#include <optional>
#include <string>

#include "perdure/core/error.hpp"
#include "perdure/core/guarded.hpp"

namespace perdure {

/// What it has under a name; empty: there is no such variable.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;

/// Empty also if there is no environment. Fails: `unavailable` if it throws.
[[nodiscard]] inline Result<std::optional<std::string>> read_variable(
    const Environment& environment, const std::string& name) {
  if (!environment) return std::nullopt;
  return guarded("the environment", [&] { return environment(name); });
}

}  // namespace perdure
