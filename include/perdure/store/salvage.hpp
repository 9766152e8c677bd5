// Getting out of a damaged store file what can still be read.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/store/check.hpp"
#include "perdure/store/progress.hpp"

namespace perdure {

struct SalvageReport {
  std::uint64_t sessions = 0;  ///< Written to the new store.
  std::uint64_t whole = 0;     ///< Of them, those of which a check finds nothing.
  std::uint64_t entries = 0;
  std::uint64_t entries_lost = 0;     ///< Positions known to have been, but not found.
  std::uint64_t entries_damaged = 0;  ///< Kept, though their bytes do not match their hash.
  std::uint64_t pages_unreadable = 0;
  /// What a check of the new store finds, as CheckReport has it. It is what was lost for good: nothing
  /// of it is a fault of the new file, and a salvage of that one would find it again.
  std::vector<Damage> damage{};
  std::uint64_t found = 0;

  bool operator==(const SalvageReport&) const = default;
};

/// Reads the file at `from`, which is never changed, page by page where its own
/// structure does not lead, and writes what it finds to a new store at `to`. The new
/// store has an incarnation of its own; its sessions come up as those of a restored
/// backup do (upkeep.hpp). Entries that are lost leave a damaged entry in their place.
/// No store object of this process may have `from` open. The new store appears under its
/// name when it is complete and on disk.
/// Fails: `not_found` if there is no file, nor its WAL; `already_exists` if there is one at `to`,
/// also one that came there meanwhile, or the log of another store beside its name; `corrupted` if
/// nothing in it looks like a store; `unsupported` for a newer format; `unavailable`, also if it was
/// told to stop: then there is none.
[[nodiscard]] Result<SalvageReport> salvage_store(const std::string& from, const std::string& to,
                                                  const Progress& progress = {});

}  // namespace perdure
