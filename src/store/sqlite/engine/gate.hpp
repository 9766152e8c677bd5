// Whether this store object may still write; asked at the start of every turn.
//
// It closes for good when a sync failed, here or in any process: the kernel may
// have dropped pages it could not write, and a later sync that succeeds would say
// nothing about them. And when the file, or its write-ahead log, is no longer the one that
// was opened: what is written to a deleted file is lost, and what a newer build made of it is
// not ours to change.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>

#include "perdure/core/error.hpp"
#include "sqlite/engine/lock_file.hpp"

namespace perdure::sqlite {

class Gate {
 public:
  /// `lock_file` must outlive this.
  Gate(std::string path, LockFile& lock_file);

  /// To be called once the store is ready, in its turn: what is there now is what
  /// has to stay.
  void open();

  /// Fails: `closed`, or `corrupted`. Before `open` only what `close` said counts.
  [[nodiscard]] Result<void> check();

  /// Whether it closed because the log has lost its name, and nothing else has: whoever had the log
  /// open still has all of it, and nobody has begun another. In one's turn.
  [[nodiscard]] bool has_log_in_hand() const;

  /// Syncs that had failed when it was opened.
  [[nodiscard]] std::uint64_t failures() const { return failures_; }

  /// A sync failed: nobody who has the store open now may write.
  void close_for_all();
  void close(std::string why);
  /// Reading may go on; what is written to a damaged store may damage the rest.
  void close_as_damaged(std::string why);

 private:
  using Identity = std::optional<std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>>;
  static Identity identity_of(const std::string& path);

  const std::string path_;
  const std::string log_path_;
  LockFile& lock_file_;
  bool is_open_ = false;
  bool was_log_ = false;
  Identity file_;
  Identity log_;
  Identity lock_;
  std::uint64_t failures_ = 0;
  std::optional<Error> closed_;
};

}  // namespace perdure::sqlite
