// How many places the damage tests damage: told on the command line, because the same
// program serves `make test` (short) and `make soak` (long).

#pragma once

#include <cstdint>

namespace perdure {

struct DamageScale {
  bool full = false;       ///< --full: every 8th byte of the file, not every thousandth.
  std::uint64_t seed = 1;  ///< --seed=N: which bytes, and how they change.
};

[[nodiscard]] const DamageScale& damage_scale();

}  // namespace perdure
