// An SQLite VFS over the system's, for doubles that watch, record or fail what SQLite does
// to its files: each overrides the few hooks it is about; the others forward.
//
// Hooks are called by SQLite, from any thread that uses a connection; one file is used by
// one thread at a time. A hook returns a result code of SQLite's.

#pragma once

#include <cstdint>
#include <sqlite3.h>
#include <string>

namespace perdure {

class VfsShim {
 public:
  /// Registers itself with SQLite under `name`, until the end of the object.
  explicit VfsShim(std::string name);
  virtual ~VfsShim();
  VfsShim(const VfsShim&) = delete;
  VfsShim& operator=(const VfsShim&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }

 protected:
  /// An open file, in memory of SQLite's; the system's own lies behind it.
  struct File {
    sqlite3_file base;
    VfsShim* shim;
    const char* path;   ///< Null for a file without a name. Stays until the file is closed.
    int flags;          ///< As SQLite opened it: SQLITE_OPEN_WAL and so on.
    std::uint64_t tag;  ///< For the double's own use.

    [[nodiscard]] sqlite3_file* system() { return reinterpret_cast<sqlite3_file*>(this + 1); }
  };

  /// Where in a file, and the bytes to be written or the room for those to be read.
  template <class Pointer>
  struct Span {
    Pointer data;
    int size;
    sqlite3_int64 offset;
  };
  using ReadSpan = Span<void*>;
  using WriteSpan = Span<const void*>;

  virtual int open(File& file, int* out_flags);
  virtual int close(File& file);
  virtual int read(File& file, const ReadSpan& span);
  virtual int write(File& file, const WriteSpan& span);
  virtual int truncate(File& file, sqlite3_int64 size);
  virtual int sync(File& file, int flags);
  virtual int file_size(File& file, sqlite3_int64* size);
  virtual int lock(File& file, int level);
  virtual int shm_map(File& file, int region, int size, int extend, void volatile** memory);
  virtual int shm_lock(File& file, int offset, int count, int flags);
  virtual int remove(const char* path, int sync_folder);
  virtual int access(const char* path, int flags, int* result);

 private:
  friend struct VfsMethods;

  const std::string name_;
  sqlite3_vfs* const system_;
  sqlite3_vfs vfs_;
};

}  // namespace perdure
