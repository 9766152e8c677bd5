// An SQLite VFS over the system's on which a chosen call fails: once, or from then on.
//
// Calls are counted from 1, only those that the fault can happen to. Giving back (closing a
// file, dropping a lock) never fails.
//
// Threads: safe from any thread.

#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

#include "doubles/vfs_shim.hpp"

namespace perdure {

enum class IoFault : std::uint8_t {
  error,  ///< The disk says no (EIO): to anything.
  full,   ///< No space is left (ENOSPC): to a write, a new file, more shared memory.
  part,   ///< Half of it is read or written, and no more.
};

[[nodiscard]] std::string_view to_string(IoFault fault);

enum class Lasting : std::uint8_t { once, for_ever };

class FaultVfs final : public VfsShim {
 public:
  explicit FaultVfs(std::string name) : VfsShim(std::move(name)) {}

  /// Call `number` from now fails, or that and all after it.
  void fail_at(std::uint64_t number, IoFault fault, Lasting lasting);
  /// Only calls whose text begins so count: "sync wal", "write".
  void only(std::string beginning);
  /// The cause is gone.
  void heal();

  /// Calls since `fail_at` that the fault could have happened to.
  [[nodiscard]] std::uint64_t calls() const;
  /// The first call that failed, as text; empty if none did.
  [[nodiscard]] std::string failed() const;

 private:
  int open(File& file, int* out_flags) override;
  int read(File& file, const ReadSpan& span) override;
  int write(File& file, const WriteSpan& span) override;
  int truncate(File& file, sqlite3_int64 size) override;
  int sync(File& file, int flags) override;
  int file_size(File& file, sqlite3_int64* size) override;
  int lock(File& file, int level) override;
  int shm_map(File& file, int region, int size, int extend, void volatile** memory) override;
  int shm_lock(File& file, int offset, int count, int flags) override;
  int remove(const char* path, int sync_folder) override;
  int access(const char* path, int flags, int* result) override;

  /// Counts a call; true if it fails.
  bool fails(const char* call, const char* path);
  [[nodiscard]] bool is(IoFault fault) const;

  mutable std::mutex mutex_;
  IoFault fault_ = IoFault::error;
  Lasting lasting_ = Lasting::once;
  std::uint64_t number_ = 0;  ///< 0: no call fails.
  std::uint64_t calls_ = 0;
  std::string only_;
  std::string failed_;
};

}  // namespace perdure
