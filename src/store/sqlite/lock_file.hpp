// The file beside the store through which processes on this machine deal with each
// other: whose turn it is to write, which workers are alive, that something changed,
// that a sync failed, which frames of the WAL must be there (wal_record.hpp).
//
// It is never synced. What it holds survives the death of processes; nothing of it must
// survive the machine, or be in a copy of the store: what is lost, cut, older or not what
// was written says nothing.

#pragma once

#include <cstdint>
#include <string>

#include "core/api/descriptor.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/time.hpp"
#include "sqlite/file_lock.hpp"
#include "sqlite/turn.hpp"
#include "sqlite/wal_record.hpp"

namespace perdure::sqlite {

class LockFile {
 public:
  /// Rights as open_file. Fails: `unavailable`.
  [[nodiscard]] static Result<LockFile> open(const std::string& path,
                                             mode_t rights = private_rights);

  /// See turn.hpp. Among threads of one LockFile the caller sees to order.
  [[nodiscard]] Result<void> take_turn(Duration wait) { return turn_.take(wait); }
  void end_turn() { turn_.end(); }

  /// Shows others that worker `number` lives, until `drop_worker` or the end of this object. False:
  /// somebody else shows that. Fails: `unavailable`.
  [[nodiscard]] Result<bool> hold_worker(std::int64_t number);
  void drop_worker(std::int64_t number);
  /// Whether a LockFile other than this one holds the worker.
  [[nodiscard]] bool is_held_elsewhere(std::int64_t number) const;

  /// Wakes whoever watches the file (watcher.hpp).
  void touch();
  /// The same, and keeps the record, with one call to the kernel. In one's turn.
  void touch(const WalRecord& record);
  /// Claims nothing if there is none. In one's turn.
  [[nodiscard]] WalRecord read_record() const;
  /// What `failures` or `read_record` last saw, or `touch` last wrote: current as long as the
  /// turn in which that was lasts.
  [[nodiscard]] const WalRecord& last_record() const { return record_; }

  /// Syncs that failed, of any process, ever; and for how many of them the store was
  /// since recovered. To be asked and told in one's turn.
  struct Failures {
    std::uint64_t seen = 0;
    std::uint64_t recovered = 0;

    [[nodiscard]] bool are_open() const { return seen != recovered; }
  };
  [[nodiscard]] Failures failures() const;
  void set_failures(Failures failures);

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  struct Contents {
    Failures failures{};
    WalRecord record{};
  };

  LockFile(std::string path, Descriptor file, Turn turn)
      : path_(std::move(path)), file_(std::move(file)), turn_(std::move(turn)) {}

  [[nodiscard]] Contents read() const;

  std::string path_;
  Descriptor file_;
  /// Opened apart: its thread may outlive this object, and must not keep workers alive.
  Turn turn_;
  mutable WalRecord record_{};
};

}  // namespace perdure::sqlite
