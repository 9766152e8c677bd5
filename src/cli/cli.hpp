// The command line as a function: words in, an exit code out.

#pragma once

#include <string>
#include <vector>

#include "world.hpp"

namespace perdure::cli {

/// Runs `perdure WORDS…`. Never throws; what goes wrong is said on `world.err`.
[[nodiscard]] int run(World& world, const std::vector<std::string>& words);

}  // namespace perdure::cli
