// What of the WAL was acknowledged, and whether it is still there.

#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "sqlite/engine/connection.hpp"
#include "sqlite/engine/lock_file.hpp"

namespace perdure::sqlite {

/// What SQLite says of the WAL.
struct WalIndex {
  std::array<std::uint32_t, 2> salts{};  ///< Others whenever the WAL is begun anew.
  std::uint32_t frames = 0;              ///< Up to and with the last commit.
  std::uint32_t written_back = 0;        ///< So many of them are in the main file.
  std::uint32_t page_size = 0;
  std::uint32_t pages = 0;  ///< Of the store, after the last commit.

  bool operator==(const WalIndex&) const = default;
};

/// Nothing if it cannot be read, or is just being changed. To be asked in one's turn.
[[nodiscard]] std::optional<WalIndex> read_wal_index(Connection& connection) noexcept;

/// Clears the two copies of the header of its index; whoever reads next builds the index anew. To
/// be done in one's turn.
void forget_wal_index(Connection& connection);

// Keeps the record of acknowledged frames (lock_file.hpp), and says at opening whether
// they are still there. SQLite takes a WAL that was deleted, cut or damaged for the end of
// what was written, and goes on from an earlier state without a word.
//
// Frames stop being needed when all were written back to the main file and synced there;
// then the record is cleared, always after the fact. A WAL that was written back and begun
// anew or deleted before that (a process killed in between, another program, a power cut
// that took the record back) is told from a lost one by the main file itself: pages that
// the frames were to change (`WalRecord::before`) are no longer what they were.
//
// All of it in one's turn. None of it fails: a record that cannot be kept claims less.

class Acknowledged {
 public:
  /// Both must outlive this.
  Acknowledged(Connection& connection, LockFile& lock_file)
      : connection_(connection), lock_file_(lock_file) {}

  /// What an acknowledged commit may rest on.
  enum class Needs : std::uint8_t { all, synced };

  /// At opening, once SQLite has read the WAL: whether frames are gone that must be there. After
  /// a failed sync only those that were synced must.
  [[nodiscard]] bool are_missing(Needs needs);

  /// After COMMIT made the WAL `frames` long, before anybody is told.
  void note(std::uint32_t frames, bool synced);

  /// Whether there are frames that are not known to be in the main file.
  [[nodiscard]] bool has_claims() const { return lock_file_.read_record().frames > 0; }

  /// Around every checkpoint, whoever asked for it.
  void begin_write_back();
  void end_write_back(bool complete);

  /// At opening, after its COMMIT: from now on what the WAL holds must be there. `before` is the
  /// index as it was before that transaction, which synced what it wrote.
  void begin(const std::optional<WalIndex>& before);

 private:
  void keep(WalRecord record);

  Connection& connection_;
  LockFile& lock_file_;
  const std::uint64_t boot_ = current_boot();
};

}  // namespace perdure::sqlite
