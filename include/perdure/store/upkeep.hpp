// Looking after a store: what it is, what it did.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/store/check.hpp"
#include "perdure/store/doctor.hpp"
#include "perdure/store/progress.hpp"

namespace perdure {

/// What a finished commit survives.
enum class Durability : std::uint8_t {
  full,     ///< The death of the process and of the machine.
  process,  ///< The death of the process.
};

struct StoreInfo {
  std::string backend{};   ///< "memory", "sqlite" or "postgres".
  std::string location{};  ///< As it was opened, without a password.
  std::string engine{};    ///< The database library and its version.
  std::int64_t format = 0;
  std::string incarnation{};  ///< New for every store, also for one restored from a backup.
  Durability durability = Durability::full;
};

/// Counted since the store object was opened.
struct StoreCounters {
  std::uint64_t commits = 0;       ///< Batches committed, repeats not counted.
  std::uint64_t transactions = 0;  ///< Groups of writes that shared one sync.
  std::uint64_t rows_read = 0;     ///< Rows that queries handed out, internal ones included.

  bool operator==(const StoreCounters&) const = default;
};

class Upkeep {
 public:
  virtual ~Upkeep() = default;

  [[nodiscard]] virtual StoreInfo info() const = 0;
  [[nodiscard]] virtual StoreCounters counters() const = 0;

  /// Reads everything and compares it with itself: sums of pages, file structure, hash chains,
  /// order, references, ledger against log, summary rows against log. Changes nothing, and
  /// sees one consistent state while others go on writing.
  [[nodiscard]] virtual Result<CheckReport> check(const Progress& progress = {}) = 0;

  /// Writes a copy of one consistent state to a new file, while others go on writing.
  /// The file appears under its name when it is complete and on disk.
  ///
  /// A backup is restored by opening it as a store. It then becomes a store of its own:
  /// a new incarnation, higher fences, no workers; its unfinished sessions come up
  /// paused and needing attention, because nobody knows what the original did since.
  /// Fails: `already_exists` if there is a file, or the log of another store beside its name;
  /// `unsupported` by the backend; `corrupted` if a page does not match its sum; `unavailable` if
  /// it was told to stop. Then there is no file.
  [[nodiscard]] virtual Result<void> backup(const std::string& path,
                                            const Progress& progress = {}) = 0;

  /// Looks at what the promises rest on here: syncs, replication, poolers. At least one remark.
  [[nodiscard]] virtual Result<std::vector<Remark>> doctor() = 0;

  /// Puts on disk whatever `Sync::later` left in memory. Under `Durability::process`
  /// nothing is ever synced, and this does nothing either.
  /// Fails: `closed` if the sync failed, now or before.
  [[nodiscard]] virtual Result<void> sync() = 0;

  /// The same word now as once: of all that was committed since, synced or not, nothing was lost. A
  /// machine or a server that crashes changes it, and so does a store that becomes another (a restored
  /// backup, a copy); the death of processes and a proper restart do not. Empty: nobody can tell.
  [[nodiscard]] virtual Result<std::string> loss_token() = 0;
};

}  // namespace perdure
