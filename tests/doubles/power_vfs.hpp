// An SQLite VFS over the system's that writes down all that happens to the files, so that
// a test can ask what a disk would hold had the power gone at any moment of it
// (power_disk.hpp). Syncs are written down and left out: the machine's power stays on.
//
// The shared memory of a WAL does not survive a machine, so it is not written down. The lock
// file is no file of SQLite's: how it looks is written down whenever it changed since the
// call before.
//
// Threads: safe from any thread; calls are numbered in the order they were made.

#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "doubles/vfs_shim.hpp"

namespace perdure {

/// One thing done to the files.
struct DiskCall {
  enum class Kind : std::uint8_t { create, remove, write, truncate, sync, sync_folder, lock_file };

  Kind kind = Kind::write;
  std::string name{};        ///< Without its folder; of `create`, `remove` and `lock_file`.
  std::uint64_t inode = 0;   ///< Which file, whatever its name; not of `sync_folder`.
  std::uint64_t offset = 0;  ///< Of `write`; the new size of `truncate`.
  std::string bytes{};       ///< Of `write`; of `lock_file`, all of it.
};

class PowerVfs final : public VfsShim {
 public:
  /// What lies in `folder` already is on disk; only files in it may be opened.
  PowerVfs(std::string name, const std::string& folder);

  /// Calls so far.
  [[nodiscard]] std::size_t calls() const;
  /// All of them, once no store uses this any more.
  [[nodiscard]] std::vector<DiskCall> take();

 private:
  int open(File& file, int* out_flags) override;
  int write(File& file, const WriteSpan& span) override;
  int truncate(File& file, sqlite3_int64 size) override;
  int sync(File& file, int flags) override;
  int remove(const char* path, int sync_folder) override;

  void note(DiskCall call);
  void note_lock_file();
  std::uint64_t note_created(const std::string& name);

  mutable std::mutex mutex_;
  std::vector<DiskCall> calls_;
  std::map<std::string, std::uint64_t> inodes_;
  std::uint64_t inodes_made_ = 0;
  std::string lock_path_;
  std::string lock_bytes_;
};

}  // namespace perdure
