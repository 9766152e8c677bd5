// The file beside the store through which processes on this machine deal with each
// other: whose turn it is to write, which workers are alive, that something changed.
//
// Locks are those of an open file description: the kernel drops them when the
// process dies, however it dies, and no other descriptor of the process can drop
// them by accident. Nothing of value is stored in the file.

#pragma once

#include <cstdint>
#include <string>

#include "perdure/core/error.hpp"

namespace perdure::sqlite {

class LockFile {
 public:
  [[nodiscard]] static Result<LockFile> open(const std::string& path);
  ~LockFile();
  LockFile(LockFile&& other) noexcept;
  LockFile& operator=(LockFile&&) = delete;
  LockFile(const LockFile&) = delete;
  LockFile& operator=(const LockFile&) = delete;

  /// Waits for the turn to write. Among threads of one LockFile the caller sees to order.
  [[nodiscard]] Result<void> take_turn();
  void end_turn();

  /// Shows others that worker `number` lives, until `drop_worker` or the end of this object.
  [[nodiscard]] Result<void> hold_worker(std::int64_t number);
  void drop_worker(std::int64_t number);
  /// Whether a LockFile other than this one holds the worker.
  [[nodiscard]] bool is_held_elsewhere(std::int64_t number) const;

  /// Wakes whoever watches the file (watcher.hpp).
  void touch();

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  LockFile(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}

  std::string path_;
  int descriptor_;
};

}  // namespace perdure::sqlite
