// Chance that depends on what it is about, not on when it is asked: threads may ask in any order.

#pragma once

#include <cstdint>
#include <string_view>

#include "property/dice.hpp"

namespace perdure::simulation {

[[nodiscard]] inline Dice dice_for(std::uint64_t seed, std::string_view about) {
  std::uint64_t mixed = 0xcbf29ce484222325ULL ^ (seed * 0x9e3779b97f4a7c15ULL);
  for (const char letter : about) {
    mixed ^= static_cast<unsigned char>(letter);
    mixed *= 0x100000001b3ULL;
  }
  return Dice(mixed);
}

}  // namespace perdure::simulation
