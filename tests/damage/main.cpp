// The sweeps' own main: gtest's flags, then ours (scale.hpp).

#include <gtest/gtest.h>
#include <iostream>
#include <span>
#include <string>
#include <string_view>

#include "damage/scale.hpp"

namespace perdure {
namespace {

DamageScale& chosen() {
  static DamageScale scale;
  return scale;
}

bool read_flag(std::string_view flag) {
  constexpr std::string_view seed = "--seed=";
  if (flag == "--full") {
    chosen().full = true;
  } else if (flag.starts_with(seed)) {
    chosen().seed = std::stoull(std::string(flag.substr(seed.size())));
  } else {
    return false;
  }
  return true;
}

}  // namespace

const DamageScale& damage_scale() { return chosen(); }

}  // namespace perdure

int main(int count, char** words) {
  testing::InitGoogleTest(&count, words);
  for (const char* flag : std::span(words, static_cast<std::size_t>(count)).subspan(1)) {
    if (perdure::read_flag(flag)) continue;
    std::cerr << "damage_sweep_test does not know " << flag << ": it takes --full, --seed=N\n";
    return 2;
  }
  return RUN_ALL_TESTS();
}
