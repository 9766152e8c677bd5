// Opening a store: a first look at the file, then what happens before the first read or write.

#pragma once

#include <optional>
#include <string>

#include "perdure/core/error.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/store.hpp"
#include "sqlite/engine/acknowledged.hpp"
#include "sqlite/engine/connection.hpp"
#include "sqlite/engine/gate.hpp"
#include "sqlite/engine/lock_file.hpp"
#include "sqlite/engine/readers.hpp"
#include "sqlite/engine/schema.hpp"

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
  /// Names this start of the machine; empty: by the kernel's word. Tests start it anew.
  std::string boot{};
};

/// Fails: `not_found` if there is no store and none may be made; `unavailable`.
[[nodiscard]] Result<void> check_place(const SqliteOptions& options);

class Opening {
 public:
  /// What of the store is made ready.
  struct Parts {
    LockFile& lock_file;
    Connection& connection;
    Gate& gate;
    Readers& readers;
    Acknowledged& acknowledged;
  };

  /// All must outlive this.
  Opening(const SqliteOptions& options, const Parts& parts)
      : options_(options),
        lock_file_(parts.lock_file),
        connection_(parts.connection),
        gate_(parts.gate),
        readers_(parts.readers),
        acknowledged_(parts.acknowledged) {}

  /// In one turn: makes, migrates, recovers or restores the store, and opens its gate. A store that
  /// is damaged is opened as far as it can be read. Returns its incarnation.
  /// Fails: `unavailable`, `unsupported`, `corrupted`.
  [[nodiscard]] Result<std::string> run();

  /// SQLite refused the file: it can be read, as far as it goes.
  [[nodiscard]] bool is_damaged() const { return is_damaged_; }

  /// When it was found that the WAL lacks commits, if that was found now: a file that is damaged
  /// as well takes no note of it (restore.hpp).
  [[nodiscard]] const std::optional<Timestamp>& lost_at() const { return lost_at_; }

 private:
  [[nodiscard]] Result<void> prepare_in_turn();
  [[nodiscard]] Result<void> check_wal_is_ours();
  [[nodiscard]] bool has_failed_sync() const { return lock_file_.failures().are_open(); }
  // What was to be synced later may go with a failed sync.
  [[nodiscard]] Acknowledged::Needs needs() const {
    return has_failed_sync() ? Acknowledged::Needs::synced : Acknowledged::Needs::all;
  }
  void read_incarnation_if_there(Connection& db);
  [[nodiscard]] Result<void> open_damaged(const SqliteError& why);
  void recover_from_failed_sync();
  void look_for_loss();

  const SqliteOptions& options_;
  LockFile& lock_file_;
  Connection& connection_;
  Gate& gate_;
  Readers& readers_;
  Acknowledged& acknowledged_;
  bool had_wal_ = false;  ///< A file that never had one, or is a backup, cannot lack one.
  std::optional<Timestamp> lost_at_;
  bool is_damaged_ = false;
  std::string incarnation_;
};

/// Whether the file may be a store of ours, by its header alone. Nothing is said of one that has a
/// lock file or a WAL beside it: then it was one, and opening it tells more.
/// Fails: `corrupted` for a file of somebody else; `unsupported` for a newer format.
[[nodiscard]] Result<void> look_at_header(const SqliteOptions& options);

/// Whether a store was here that has lost its file: one that is empty or gone, beside a WAL that is
/// not, or a lock file that knows a store. A new one would take the place of what is left.
/// Fails: `corrupted`; `unavailable`.
[[nodiscard]] Result<void> look_for_remains(const SqliteOptions& options);

}  // namespace perdure::sqlite
