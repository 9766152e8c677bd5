// Cutting the power at many moments of what was recorded, and judging each disk that is
// left. What is done at one moment follows from --seed and the moment alone.

#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "doubles/power_vfs.hpp"
#include "doubles/temp_folder.hpp"

namespace perdure {

/// At which moments, each before the call of that number.
struct Cuts {
  std::size_t begin = 0;
  std::size_t stride = 1;
  std::size_t first = 0;  ///< Every `stride`-th from here.
  bool at_syncs = true;   ///< Right before and after every sync in any case.
  /// So many disks each. One of the first two has lost all that was not synced.
  int disks = 1;
};

struct Swept {
  std::size_t cuts = 0;
  std::size_t disks = 0;

  void operator+=(const Swept& other);
  /// For people and for the test's record.
  void print(const std::string& what) const;
};

/// Adds a failure to the test if the disk in the folder is not what it must be.
using Judge =
    std::function<void(std::size_t cut, const TempFolder& left, const std::string& where)>;

/// Stops at the first failure.
Swept sweep(const std::vector<DiskCall>& calls, const Cuts& cuts, const Judge& judge);

}  // namespace perdure
