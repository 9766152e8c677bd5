// Which seeds a property runs with, and how a failing one is run again.

#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace perdure {

/// 1, 2, 3 …: as many as `PERDURE_PROPERTY_RUNS` in the environment says, or `runs`; but at most
/// `runs_max`, where each takes its time. With `SEED=17`: 17 alone, or that many from 17 on.
[[nodiscard]] std::vector<std::uint64_t> seeds(
    std::size_t runs, std::size_t runs_max = std::numeric_limits<std::size_t>::max());

/// Says how many sequences held, for whoever adds them up.
void report_held(std::size_t sequences);

/// What a failure says about how to see it again.
[[nodiscard]] std::string reproduce(std::uint64_t seed);

}  // namespace perdure
