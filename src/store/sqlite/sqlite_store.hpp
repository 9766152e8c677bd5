// A store in one SQLite file.
//
// Beside the file `name` lie, while it is open, SQLite's `name-wal` and `name-shm`,
// and always `name-lock`, through which processes take turns (lock_file.hpp).
//
// Durability: WAL with synchronous=FULL: one sync per group of commits.
// `Durability::process` leaves that sync out.
//
// Read next: writer.hpp, then commit.cpp, then schema.cpp.

#pragma once

#include <memory>
#include <string>

#include "perdure/core/error.hpp"
#include "perdure/store/store.hpp"
#include "sqlite/schema.hpp"

namespace perdure::sqlite {

struct SqliteOptions {
  std::string location{};  ///< As `info()` tells it.
  std::string path{};
  OpenOptions open{};
  /// The SQLite VFS to use; empty for the system's. Tests put their own under it.
  std::string vfs{};
  /// To formats that this build does not know: those of tests.
  FormatSteps steps = own_steps;
  /// Names this start of the machine; empty: by the kernel's word. Tests start it anew.
  std::string boot{};
};

[[nodiscard]] Result<std::unique_ptr<Store>> open_sqlite(const SqliteOptions& options);

}  // namespace perdure::sqlite
