// Looking after a store: what it is, what it did.

#pragma once

#include <cstdint>
#include <string>

#include "perdure/core/error.hpp"

namespace perdure {

/// What a finished commit survives.
enum class Durability : std::uint8_t {
  full,     ///< The death of the process and of the machine.
  process,  ///< The death of the process.
};

struct StoreInfo {
  std::string backend{};   ///< "memory" or "sqlite".
  std::string location{};  ///< As it was opened.
  std::string engine{};    ///< The database library and its version.
  std::int64_t format = 0;
  std::string incarnation{};  ///< New for every store, also for one restored from a backup.
  Durability durability = Durability::full;
};

/// Counted since the store object was opened.
struct Counters {
  std::uint64_t commits = 0;       ///< Batches committed, repeats not counted.
  std::uint64_t transactions = 0;  ///< Groups of writes that shared one sync.
  std::uint64_t rows_read = 0;     ///< Rows that queries handed out, internal ones included.

  bool operator==(const Counters&) const = default;
};

class Upkeep {
 public:
  virtual ~Upkeep() = default;

  [[nodiscard]] virtual StoreInfo info() const = 0;
  [[nodiscard]] virtual Counters counters() const = 0;

  /// Puts on disk whatever `Sync::later` left in memory.
  /// Fails: `closed` if the sync failed, now or before.
  [[nodiscard]] virtual Result<void> sync() = 0;
};

}  // namespace perdure
