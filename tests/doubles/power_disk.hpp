// A disk in a machine whose power may go: what is synced stays; of the rest, every sector
// holds what it held at some moment since its file's last sync, each its own. That drops,
// tears and reorders writes in every way a kernel and a disk may.
//
// A file's size and the folder's names are as loose as that until synced: a file that grew
// may have its new size without its new bytes (then zeros or rubbish are there), a file
// removed may be back, a new one may be gone.
//
// The lock file is never synced: it is there as it was at any moment before, or not at all.
// The machine that reads it next has started anew.

#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "doubles/power_vfs.hpp"

namespace perdure {

/// Which of the writes that were not synced are lost.
enum class Loss : std::uint8_t { all, some };

class PowerDisk {
 public:
  using Files = std::map<std::string, std::string>;  ///< By name, without a folder.

  /// The call must outlive this.
  void apply(const DiskCall& call);
  /// What the disk may hold if the power goes now.
  [[nodiscard]] Files after_power_cut(Loss loss, std::mt19937_64& chance) const;

 private:
  struct Inode {
    std::string synced;
    std::vector<const DiskCall*> unsynced;
  };

  std::map<std::uint64_t, Inode> inodes_;
  std::map<std::string, std::uint64_t> synced_names_;
  std::vector<const DiskCall*> unsynced_names_;
  std::vector<const DiskCall*> lock_files_;
};

/// Puts the files into `folder`, some of the time with rubbish where the shared memory was.
void put_into(const std::string& folder, const PowerDisk::Files& files, std::mt19937_64& chance);

}  // namespace perdure
