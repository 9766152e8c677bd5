// Codes are those that SQLite's own VFS gives for the same trouble.

#include "doubles/fault_vfs.hpp"

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

namespace perdure {
namespace {

std::string kind_of(std::string_view path) {
  if (path.ends_with("-wal")) return "wal";
  return path.ends_with("-journal") ? "journal" : "database";
}

}  // namespace

std::string_view to_string(IoFault fault) {
  switch (fault) {
    case IoFault::error:
      return "error";
    case IoFault::full:
      return "full";
    case IoFault::part:
      break;
  }
  return "part";
}

void FaultVfs::fail_at(std::uint64_t number, IoFault fault, Lasting lasting) {
  const std::scoped_lock lock(mutex_);
  number_ = number;
  fault_ = fault;
  lasting_ = lasting;
  calls_ = 0;
  failed_.clear();
}

void FaultVfs::only(std::string beginning) {
  const std::scoped_lock lock(mutex_);
  only_ = std::move(beginning);
}

void FaultVfs::heal() {
  const std::scoped_lock lock(mutex_);
  number_ = 0;
}

std::uint64_t FaultVfs::calls() const {
  const std::scoped_lock lock(mutex_);
  return calls_;
}

std::string FaultVfs::failed() const {
  const std::scoped_lock lock(mutex_);
  return failed_;
}

bool FaultVfs::is(IoFault fault) const {
  const std::scoped_lock lock(mutex_);
  return fault_ == fault;
}

bool FaultVfs::fails(const char* call, const char* path) {
  const std::scoped_lock lock(mutex_);
  const std::string text = std::string(call) + " " + kind_of(path == nullptr ? "" : path);
  if (!text.starts_with(only_)) return false;
  ++calls_;
  if (number_ == 0 || calls_ < number_) return false;
  if (lasting_ == Lasting::once && calls_ > number_) return false;
  if (failed_.empty()) failed_ = text;
  return true;
}

int FaultVfs::open(File& file, int* out_flags) {
  const bool makes = (file.flags & SQLITE_OPEN_CREATE) != 0;
  const bool counts = is(IoFault::error) || (is(IoFault::full) && makes);
  if (counts && fails("open", file.path)) return SQLITE_CANTOPEN;
  return VfsShim::open(file, out_flags);
}

int FaultVfs::read(File& file, const ReadSpan& span) {
  if (is(IoFault::full) || !fails("read", file.path)) return VfsShim::read(file, span);
  if (is(IoFault::error)) return SQLITE_IOERR_READ;
  const int code = VfsShim::read(file, span);
  const std::span bytes(static_cast<char*>(span.data), static_cast<std::size_t>(span.size));
  std::ranges::fill(bytes.subspan(bytes.size() / 2), '\0');
  return code == SQLITE_OK ? SQLITE_IOERR_SHORT_READ : code;
}

int FaultVfs::write(File& file, const WriteSpan& span) {
  if (!fails("write", file.path)) return VfsShim::write(file, span);
  if (is(IoFault::error)) return SQLITE_IOERR_WRITE;
  if (is(IoFault::part)) {
    VfsShim::write(file, {.data = span.data, .size = span.size / 2, .offset = span.offset});
  }
  return SQLITE_FULL;
}

int FaultVfs::truncate(File& file, sqlite3_int64 size) {
  if (is(IoFault::error) && fails("truncate", file.path)) return SQLITE_IOERR_TRUNCATE;
  return VfsShim::truncate(file, size);
}

int FaultVfs::sync(File& file, int flags) {
  if (is(IoFault::error) && fails("sync", file.path)) return SQLITE_IOERR_FSYNC;
  return VfsShim::sync(file, flags);
}

int FaultVfs::file_size(File& file, sqlite3_int64* size) {
  if (is(IoFault::error) && fails("size", file.path)) return SQLITE_IOERR_FSTAT;
  return VfsShim::file_size(file, size);
}

int FaultVfs::lock(File& file, int level) {
  if (is(IoFault::error) && fails("lock", file.path)) return SQLITE_IOERR_LOCK;
  return VfsShim::lock(file, level);
}

int FaultVfs::shm_map(File& file, int region, int size, int extend, void volatile** memory) {
  const bool counts = is(IoFault::error) || (is(IoFault::full) && extend != 0);
  if (counts && fails("map", file.path)) {
    *memory = nullptr;
    return is(IoFault::full) ? SQLITE_IOERR_SHMSIZE : SQLITE_IOERR_SHMMAP;
  }
  return VfsShim::shm_map(file, region, size, extend, memory);
}

int FaultVfs::shm_lock(File& file, int offset, int count, int flags) {
  const bool takes = (flags & SQLITE_SHM_LOCK) != 0;
  if (takes && is(IoFault::error) && fails("share", file.path)) return SQLITE_IOERR_SHMLOCK;
  return VfsShim::shm_lock(file, offset, count, flags);
}

int FaultVfs::remove(const char* path, int sync_folder) {
  if (is(IoFault::error) && fails("remove", path)) return SQLITE_IOERR_DELETE;
  return VfsShim::remove(path, sync_folder);
}

int FaultVfs::access(const char* path, int flags, int* result) {
  if (is(IoFault::error) && fails("access", path)) return SQLITE_IOERR_ACCESS;
  return VfsShim::access(path, flags, result);
}

}  // namespace perdure
