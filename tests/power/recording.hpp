// A run of the script on a disk that remembers all that was done to it, and what the
// run said meanwhile: enough to cut the power at any moment of it, afterwards.

#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "crash/crash_check.hpp"
#include "crash/script.hpp"
#include "doubles/power_vfs.hpp"

namespace perdure {

struct Recording {
  struct Said {
    std::size_t calls = 0;  ///< Made to the files when it was said.
    std::string line;       ///< As a Testimony hears it.
    bool synced = false;    ///< Whether it promises that all up to here survives.
  };

  std::vector<DiskCall> calls;
  std::size_t begin = 0;  ///< The first calls only put there what lay in the folder before.
  std::vector<Said> said;
};

struct Run {
  std::string folder;
  std::string worker = "first";
  Load load = Load::small;
  Durability durability = Durability::full;
};

/// Opens the store in the folder, does the script, and closes it.
[[nodiscard]] Recording record(const Run& run);

/// Adds what was said before call `cut` to what was heard before. `synced` is how many
/// steps were on disk when the recording began, and then how many are at the cut.
void hear_until(std::size_t cut, const Recording& recording, Testimony& testimony,
                std::size_t& synced);

}  // namespace perdure
