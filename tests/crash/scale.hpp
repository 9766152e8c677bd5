// How long the crash tests run, and by which chance: told on the command line, because
// the same program serves `make test` (short) and `make soak` (long).

#pragma once

#include <cstdint>

namespace perdure {

struct Scale {
  bool full = false;       ///< --full: every pair of deaths (hours), not a sample.
  std::uint64_t seed = 1;  ///< --seed=N: which samples, which random deaths.
  int rounds = 40;         ///< --rounds=N: deaths under load.
};

[[nodiscard]] const Scale& scale();

}  // namespace perdure
