// What a store says of itself: the number of its format, and how its incarnation is named.

#pragma once

#include <cstdint>
#include <fmt/format.h>
#include <string>
#include <string_view>

namespace perdure::rules {

/// The first format that was released. Stores of 1 to 3 are refused, and these numbers never used
/// again.
inline constexpr std::int64_t first_format = 4;

/// Why a store of an earlier format is refused.
[[nodiscard]] inline std::string unreleased_format(std::int64_t found) {
  return fmt::format(
      "the store has format {}, which only unreleased builds of Perdure wrote; this version reads "
      "formats from {} on: export its sessions with the build that made it (perdure export), and "
      "import them into a new store (perdure import)",
      found, first_format);
}

// How a store's incarnation is named: new for every store, also for one that was restored.

struct StoreTag {
  static constexpr std::string_view prefix = "sto_";
};

}  // namespace perdure::rules
