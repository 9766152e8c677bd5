// Which seeds a property runs with, and how a failing one is run again.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace perdure {

/// `SEED=17` in the environment: 17 alone. Else 1, 2, 3 …: as many as
/// `PERDURE_PROPERTY_RUNS` says, or `runs`.
[[nodiscard]] std::vector<std::uint64_t> seeds(std::size_t runs);

/// What a failure says about how to see it again.
[[nodiscard]] std::string reproduce(std::uint64_t seed);

}  // namespace perdure
