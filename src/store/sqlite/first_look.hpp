// A look at a file before anything is laid beside it.

#pragma once

#include "perdure/core/error.hpp"
#include "sqlite/sqlite_store.hpp"

namespace perdure::sqlite {

/// Whether the file may be a store of ours, by its header alone. Nothing is said of one that has a
/// lock file or a WAL beside it: then it was one, and opening it tells more.
/// Fails: `corrupted` for a file of somebody else; `unsupported` for a newer format.
[[nodiscard]] Result<void> look_at_header(const SqliteOptions& options);

}  // namespace perdure::sqlite
