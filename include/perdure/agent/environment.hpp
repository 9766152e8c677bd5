// The environment of a program, as whoever stands at its edge passes it on: nothing below reads its
// own.

#pragma once

#include <functional>
#include <optional>
#include <string>

namespace perdure {

/// What it has under a name; empty: there is no such variable.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;

}  // namespace perdure
