// A store in one SQLite file.
//
// Beside the file `name` are, while it is open, SQLite's `name-wal` and `name-shm`,
// and always `name-lock`, through which processes take turns (lock_file.hpp).
//
// Durability: WAL with synchronous=FULL: one sync per group of commits.
// `Durability::process` leaves that sync out.
//
// Read next: writer.hpp, then commit.cpp, then schema.cpp.

#pragma once

#include <memory>

#include "perdure/core/error.hpp"
#include "perdure/store/store.hpp"
#include "sqlite/opening/opening.hpp"

namespace perdure::sqlite {

[[nodiscard]] Result<std::unique_ptr<Store>> open_sqlite(const SqliteOptions& options);

}  // namespace perdure::sqlite
