// The command line as a function: words in, an exit code out.

#pragma once

#include <string>
#include <vector>

#include "context/settings.hpp"

namespace perdure::cli {

/// Runs `perdure WORDS…`. Never throws; what goes wrong is said on `io.err`.
[[nodiscard]] int run(ProcessIo& io, const std::vector<std::string>& words);

}  // namespace perdure::cli
