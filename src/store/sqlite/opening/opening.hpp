// Backups, and opening a store: a first look at the files, then what happens before the first read
// or write.

#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/store.hpp"
#include "perdure/store/upkeep.hpp"
#include "sqlite/engine/connection.hpp"
#include "sqlite/engine/lock_file.hpp"
#include "sqlite/engine/readers.hpp"
#include "sqlite/engine/roles.hpp"
#include "sqlite/engine/schema.hpp"
#include "sqlite/engine/writer.hpp"

namespace perdure::sqlite {

// What happens between the opening of the files and the first read or write.

struct SqliteOptions {
  std::string location{};  ///< As `info()` tells it.
  std::string path{};
  OpenOptions open{};
  /// The SQLite VFS to use; empty for the system's. Tests put their own under it.
  std::string vfs{};
  /// To formats that this build does not know: those of tests.
  FormatSteps steps = own_steps;
  /// Names this boot of the machine; empty: the kernel's id of it. Tests simulate new ones.
  std::string boot{};
};

/// What of a store is made ready.
struct OpeningParts {
  LockFile& lock_file;
  Connection& connection;
  Writer& writer;
  Readers& readers;
};

struct Opened {
  std::string incarnation{};
  /// SQLite refused the file: it can be read, as far as it goes.
  bool is_damaged = false;
  /// When it was found that the WAL lacks commits, if that was found now: a file that is damaged
  /// as well takes no note of it.
  std::optional<Timestamp> lost_at{};
};

/// Whether a store can be opened there, or made. By the files alone, and none is made or changed.
/// Fails: `not_found` if there is no store and none may be made; `corrupted` for another program's
/// file, or a store that lost its file; `unsupported` for a newer format; `unavailable`.
[[nodiscard]] Result<void> look_at_files(const SqliteOptions& options);

/// In one turn: makes, migrates, recovers or restores the store, and opens its gate. A store that
/// is damaged is opened as far as it can be read.
/// Fails: `unavailable`, `unsupported`, `corrupted`.
[[nodiscard]] Result<Opened> make_ready(const SqliteOptions& options, const OpeningParts& parts);

/// Whether a store that is put there can be opened: no file has its name, and no other store left a
/// log beside it, which SQLite would take for its own.
/// Fails: `already_exists`.
[[nodiscard]] Result<void> check_new_place(const std::string& path);

/// As Upkeep::backup.
[[nodiscard]] Result<void> write_backup(const Access& access, const std::string& path,
                                        const Progress& progress);

/// Inside the caller's transaction: if the file says that it is a backup, it becomes a
/// store of its own (upkeep.hpp says how).
void restore_if_backup(Connection& db, IdSource& ids);

/// Inside the caller's transaction: the file went back in time, because the WAL lost commits; that
/// was found at this time. It becomes a store of its own, as a backup does, and says what
/// happened as long as it lives.
void restore_after_loss(Connection& db, IdSource& ids, Timestamp found_at);

/// When a loss was found, if one was.
[[nodiscard]] std::optional<Timestamp> find_loss(Connection& db);

/// A new incarnation, no workers, higher fences; unfinished sessions are paused for
/// that reason and need attention.
void begin_anew(Connection& db, IdSource& ids, std::string_view reason);

}  // namespace perdure::sqlite
