// The file beside a store that its processes share: locks, wake-ups, and the record of the WAL.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "core/api/descriptor.hpp"
#include "files/file_lock.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/time.hpp"

namespace perdure::sqlite {

// What of the WAL was acknowledged: which frames must still be there when the store is
// opened again. Written with every commit.
//
// It lives in the kernel's cache and is never synced. It survives the death of processes;
// after that of the machine the disk has this state of it or an older one, or none.

inline constexpr std::uint64_t absent_page = 0;

/// A page of the main file, and what it held while frames were not yet written back to it.
struct PageMark {
  std::uint64_t page = 0;  ///< 0: none.
  std::uint64_t sum = 0;   ///< `absent_page`: the file ended before it.

  bool operator==(const PageMark&) const = default;
};

/// As stored in the file.
struct WalRecord {
  std::array<std::uint32_t, 2> salts{};  ///< Of the WAL that holds the frames.
  std::uint32_t frames = 0;              ///< Acknowledged; 0: nothing is claimed.
  std::uint32_t synced = 0;              ///< So many of them were also synced.
  std::uint64_t boot = 0;                ///< The machine's boot in which it was written.
  /// Both hold something else once all frames are written back, by whomever. The first is on the
  /// last frame or near it, which no half of a checkpoint reaches; the second is the page that a
  /// checkpoint writes last.
  std::array<PageMark, 2> before{};
  std::uint64_t sum = 0;  ///< Over all of the above; another one: no record.

  bool operator==(const WalRecord&) const = default;

  /// Sets the sum.
  void seal();
  [[nodiscard]] bool is_sealed() const;
};

/// Names this start of the machine; empty if the kernel does not say.
[[nodiscard]] std::string boot_id();
/// As a record has it; 0 if the kernel does not say.
[[nodiscard]] std::uint64_t current_boot();

/// 64 bits of the bytes, for telling accidents, not attackers.
[[nodiscard]] std::uint64_t sum_of(const char* bytes, std::size_t count);

// The file beside the store through which processes on this machine deal with each
// other: whose turn it is to write, which workers are alive, that a sync failed, which
// frames of the WAL must be there.
//
// It is never synced. What it holds survives the death of processes; nothing of it must
// survive the machine, or be in a copy of the store: what is lost, cut, older or not what
// was written says nothing.

class LockFile {
 public:
  /// Rights as open_file. Fails: `unavailable`.
  [[nodiscard]] static Result<LockFile> open(const std::string& path,
                                             mode_t rights = private_rights);

  /// Takes the turn to write, which one process of this machine has at a time. Among threads of one
  /// LockFile the caller sees to order. A clock that a store was given does not bound the wait:
  /// other processes do not keep to it.
  /// Fails: `unavailable`, about "store_in_use", if it is not free within `wait`; `unavailable` if
  /// it cannot be locked.
  [[nodiscard]] Result<void> take_turn(Duration wait, const Clock& clock = system_clock());
  void end_turn();

  /// Shows others that worker `number` lives, until `drop_worker` or the end of this object. False:
  /// another LockFile shows that. Fails: `unavailable`.
  [[nodiscard]] Result<bool> hold_worker(std::int64_t number);
  void drop_worker(std::int64_t number);
  /// Whether a LockFile other than this one holds the worker.
  [[nodiscard]] bool is_held_elsewhere(std::int64_t number) const;

  /// Keeps the record, with one call to the kernel. In one's turn.
  void keep(const WalRecord& record);
  /// Claims nothing if there is none. In one's turn.
  [[nodiscard]] WalRecord read_record() const;
  /// What `failures` or `read_record` last saw, or `keep` last wrote: current as long as the
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

  LockFile(std::string path, Descriptor file) : path_(std::move(path)), file_(std::move(file)) {}

  [[nodiscard]] Contents read() const;

  std::string path_;
  Descriptor file_;
  mutable WalRecord record_{};
};

}  // namespace perdure::sqlite
