// A look at a file, and at what lies beside it, before anything is laid there.

#pragma once

#include "perdure/core/error.hpp"
#include "sqlite/sqlite_store.hpp"

namespace perdure::sqlite {

/// Whether the file may be a store of ours, by its header alone. Nothing is said of one that has a
/// lock file or a WAL beside it: then it was one, and opening it tells more.
/// Fails: `corrupted` for a file of somebody else; `unsupported` for a newer format.
[[nodiscard]] Result<void> look_at_header(const SqliteOptions& options);

/// Whether a store was here that has lost its file: one that is empty or gone, beside a WAL that is
/// not, or a lock file that knows a store. A new one would take the place of what is left.
/// Fails: `corrupted`; `unavailable`.
[[nodiscard]] Result<void> look_for_remains(const SqliteOptions& options);

}  // namespace perdure::sqlite
