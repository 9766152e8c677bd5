// How long the crash, power, fault and damage tests run, and by which chance: given on the command
// line, because the same programs serve `make test` (short) and `make soak` (long).

#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace perdure {

struct Scale {
  bool full = false;       ///< --full: every pair of deaths, every 8th byte (hours), not a sample.
  std::uint64_t seed = 1;  ///< --seed=N: which samples, which random deaths.
  std::optional<int> rounds;  ///< --rounds=N: deaths under load; disks at one power cut.
};

[[nodiscard]] const Scale& scale();

/// Prints what was swept, for whoever counts over many runs. Nothing if the test failed.
void tell(std::string_view what, int deaths);

}  // namespace perdure
