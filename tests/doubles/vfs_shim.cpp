// SQLite's tables of functions, each leading to a hook; what no double asks for goes
// straight to the system's file.

#include "doubles/vfs_shim.hpp"

#include <new>
#include <utility>

namespace perdure {

struct VfsMethods {
  using File = VfsShim::File;

  static File& as_file(sqlite3_file* file) { return *reinterpret_cast<File*>(file); }
  static VfsShim& as_shim(sqlite3_vfs* vfs) { return *static_cast<VfsShim*>(vfs->pAppData); }

  static int close(sqlite3_file* file) { return as_file(file).shim->close(as_file(file)); }
  static int read(sqlite3_file* file, void* data, int size, sqlite3_int64 offset) {
    return as_file(file).shim->read(as_file(file), {.data = data, .size = size, .offset = offset});
  }
  static int write(sqlite3_file* file, const void* data, int size, sqlite3_int64 offset) {
    return as_file(file).shim->write(as_file(file), {.data = data, .size = size, .offset = offset});
  }
  static int truncate(sqlite3_file* file, sqlite3_int64 size) {
    return as_file(file).shim->truncate(as_file(file), size);
  }
  static int sync(sqlite3_file* file, int flags) {
    return as_file(file).shim->sync(as_file(file), flags);
  }
  static int file_size(sqlite3_file* file, sqlite3_int64* size) {
    return as_file(file).shim->file_size(as_file(file), size);
  }
  static int lock(sqlite3_file* file, int level) {
    return as_file(file).shim->lock(as_file(file), level);
  }
  static int unlock(sqlite3_file* file, int level) {
    sqlite3_file* system = as_file(file).system();
    return system->pMethods->xUnlock(system, level);
  }
  static int check_reserved_lock(sqlite3_file* file, int* result) {
    sqlite3_file* system = as_file(file).system();
    return system->pMethods->xCheckReservedLock(system, result);
  }
  static int file_control(sqlite3_file* file, int operation, void* argument) {
    sqlite3_file* system = as_file(file).system();
    return system->pMethods->xFileControl(system, operation, argument);
  }
  static int sector_size(sqlite3_file* file) {
    sqlite3_file* system = as_file(file).system();
    return system->pMethods->xSectorSize(system);
  }
  static int device_characteristics(sqlite3_file* file) {
    sqlite3_file* system = as_file(file).system();
    return system->pMethods->xDeviceCharacteristics(system);
  }
  static int shm_map(sqlite3_file* file, int region, int size, int extend, void volatile** memory) {
    return as_file(file).shim->shm_map(as_file(file), region, size, extend, memory);
  }
  static int shm_lock(sqlite3_file* file, int offset, int count, int flags) {
    return as_file(file).shim->shm_lock(as_file(file), offset, count, flags);
  }
  static void shm_barrier(sqlite3_file* file) {
    sqlite3_file* system = as_file(file).system();
    system->pMethods->xShmBarrier(system);
  }
  static int shm_unmap(sqlite3_file* file, int remove) {
    sqlite3_file* system = as_file(file).system();
    return system->pMethods->xShmUnmap(system, remove);
  }

  static int open(sqlite3_vfs* vfs, sqlite3_filename path, sqlite3_file* file, int flags,
                  int* out_flags);
  static int remove(sqlite3_vfs* vfs, const char* path, int sync_folder) {
    return as_shim(vfs).remove(path, sync_folder);
  }
  static int access(sqlite3_vfs* vfs, const char* path, int flags, int* result) {
    return as_shim(vfs).access(path, flags, result);
  }

  // Version 2: without memory-mapped reads, which would pass by the hooks.
  static constexpr sqlite3_io_methods table{.iVersion = 2,
                                            .xClose = close,
                                            .xRead = read,
                                            .xWrite = write,
                                            .xTruncate = truncate,
                                            .xSync = sync,
                                            .xFileSize = file_size,
                                            .xLock = lock,
                                            .xUnlock = unlock,
                                            .xCheckReservedLock = check_reserved_lock,
                                            .xFileControl = file_control,
                                            .xSectorSize = sector_size,
                                            .xDeviceCharacteristics = device_characteristics,
                                            .xShmMap = shm_map,
                                            .xShmLock = shm_lock,
                                            .xShmBarrier = shm_barrier,
                                            .xShmUnmap = shm_unmap,
                                            .xFetch = nullptr,
                                            .xUnfetch = nullptr};
};

int VfsMethods::open(sqlite3_vfs* vfs, sqlite3_filename path, sqlite3_file* file, int flags,
                     int* out_flags) {
  // NOLINTNEXTLINE(cppcoreguidelines-owning-memory): the memory is SQLite's.
  File* self =
      new (file) File{.base = {}, .shim = &as_shim(vfs), .path = path, .flags = flags, .tag = 0};
  self->system()->pMethods = nullptr;
  const int code = self->shim->open(*self, out_flags);
  // SQLite closes what has methods, opened or not.
  self->base.pMethods = self->system()->pMethods != nullptr ? &table : nullptr;
  return code;
}

// What the shim does not change goes to the system's VFS as it is; those methods do
// not look at the object they are called on.
VfsShim::VfsShim(std::string name)
    : name_(std::move(name)), system_(sqlite3_vfs_find(nullptr)), vfs_(*system_) {
  vfs_.pNext = nullptr;
  vfs_.zName = name_.c_str();
  vfs_.pAppData = this;
  vfs_.szOsFile = static_cast<int>(sizeof(File)) + system_->szOsFile;
  vfs_.xOpen = VfsMethods::open;
  vfs_.xDelete = VfsMethods::remove;
  vfs_.xAccess = VfsMethods::access;
  sqlite3_vfs_register(&vfs_, 0);
}

VfsShim::~VfsShim() { sqlite3_vfs_unregister(&vfs_); }

int VfsShim::open(File& file, int* out_flags) {
  return system_->xOpen(system_, file.path, file.system(), file.flags, out_flags);
}

int VfsShim::close(File& file) {
  sqlite3_file* system = file.system();
  return system->pMethods->xClose(system);
}

int VfsShim::read(File& file, const ReadSpan& span) {
  sqlite3_file* system = file.system();
  return system->pMethods->xRead(system, span.data, span.size, span.offset);
}

int VfsShim::write(File& file, const WriteSpan& span) {
  sqlite3_file* system = file.system();
  return system->pMethods->xWrite(system, span.data, span.size, span.offset);
}

int VfsShim::truncate(File& file, sqlite3_int64 size) {
  sqlite3_file* system = file.system();
  return system->pMethods->xTruncate(system, size);
}

int VfsShim::sync(File& file, int flags) {
  sqlite3_file* system = file.system();
  return system->pMethods->xSync(system, flags);
}

int VfsShim::file_size(File& file, sqlite3_int64* size) {
  sqlite3_file* system = file.system();
  return system->pMethods->xFileSize(system, size);
}

int VfsShim::lock(File& file, int level) {
  sqlite3_file* system = file.system();
  return system->pMethods->xLock(system, level);
}

int VfsShim::shm_map(File& file, int region, int size, int extend, void volatile** memory) {
  sqlite3_file* system = file.system();
  return system->pMethods->xShmMap(system, region, size, extend, memory);
}

int VfsShim::shm_lock(File& file, int offset, int count, int flags) {
  sqlite3_file* system = file.system();
  return system->pMethods->xShmLock(system, offset, count, flags);
}

int VfsShim::remove(const char* path, int sync_folder) {
  return system_->xDelete(system_, path, sync_folder);
}

int VfsShim::access(const char* path, int flags, int* result) {
  return system_->xAccess(system_, path, flags, result);
}

}  // namespace perdure
