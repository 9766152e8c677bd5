// What commits of one session take while the rest of a large store is backed up or pruned.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "workload.hpp"

namespace perdure::bench {

struct UpkeepMeasured {
  std::vector<double> quiet_us;  ///< Each sorted.
  std::vector<double> backup_us;
  std::vector<double> prune_us;
  double backup_s = 0;
  double prune_s = 0;
  std::uint64_t bytes_stored = 0;
  std::uint64_t bytes_pruned = 0;
};

/// Makes a store of about so many megabytes at `path` and measures. Stops the process on an error.
[[nodiscard]] UpkeepMeasured measure_upkeep(const std::string& path,
                                            const std::vector<Turn>& workload,
                                            std::size_t megabytes);

}  // namespace perdure::bench
