// The shim's file object holds the system's behind it, in the memory SQLite gives
// for both; its methods are called by SQLite only, one connection a thread.

#include "doubles/counting_vfs.hpp"

#include <array>
#include <atomic>
#include <new>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): kill is POSIX, not C++.
#include <sqlite3.h>
#include <unistd.h>
#include <utility>

namespace perdure {

struct CountingVfs::State {
  struct Atomics {
    std::atomic<std::uint64_t> syncs = 0;
    std::atomic<std::uint64_t> writes = 0;
    std::atomic<std::uint64_t> bytes_written = 0;
    std::atomic<std::uint64_t> reads = 0;
  };

  std::string name;
  sqlite3_vfs vfs{};
  sqlite3_vfs* system = nullptr;
  std::array<Atomics, 3> files;
  std::atomic<std::uint64_t> write_calls = 0;
  std::uint64_t kill_number = 0;
  Moment kill_moment = Moment::before;
  bool skips_syncs = false;
};

namespace {

using State = CountingVfs::State;

struct File {
  sqlite3_file base;
  State* state;
  FileKind kind;

  [[nodiscard]] sqlite3_file* system() { return reinterpret_cast<sqlite3_file*>(this + 1); }
  [[nodiscard]] auto& counts() { return state->files[static_cast<std::size_t>(kind)]; }
};

File* as_file(sqlite3_file* file) { return reinterpret_cast<File*>(file); }

State* as_state(sqlite3_vfs* vfs) { return static_cast<State*>(vfs->pAppData); }

void die() {
  kill(getpid(), SIGKILL);
  // The signal may reach the process a moment later; nothing may be written meanwhile.
  for (;;) pause();
}

// Runs one write call, and dies around it if its number is up. `half` is what of it
// happens when death comes in the middle.
template <class Call, class Half>
int write_call(State& state, Call call, Half half) {
  const bool is_last = ++state.write_calls == state.kill_number;
  if (!is_last) return call();
  if (state.kill_moment == Moment::during) half();
  if (state.kill_moment == Moment::after) call();
  die();
  return SQLITE_IOERR;
}

int close(sqlite3_file* file) {
  sqlite3_file* system = as_file(file)->system();
  return system->pMethods->xClose(system);
}

int read(sqlite3_file* file, void* data, int size, sqlite3_int64 offset) {
  ++as_file(file)->counts().reads;
  sqlite3_file* system = as_file(file)->system();
  return system->pMethods->xRead(system, data, size, offset);
}

int write(sqlite3_file* file, const void* data, int size, sqlite3_int64 offset) {
  File& self = *as_file(file);
  sqlite3_file* system = self.system();
  return write_call(
      *self.state,
      [&] {
        ++self.counts().writes;
        self.counts().bytes_written += static_cast<std::uint64_t>(size);
        return system->pMethods->xWrite(system, data, size, offset);
      },
      [&] { system->pMethods->xWrite(system, data, size / 2, offset); });
}

int truncate(sqlite3_file* file, sqlite3_int64 size) {
  File& self = *as_file(file);
  sqlite3_file* system = self.system();
  return write_call(*self.state, [&] { return system->pMethods->xTruncate(system, size); }, [] {});
}

int sync(sqlite3_file* file, int flags) {
  File& self = *as_file(file);
  sqlite3_file* system = self.system();
  return write_call(
      *self.state,
      [&] {
        ++self.counts().syncs;
        return self.state->skips_syncs ? SQLITE_OK : system->pMethods->xSync(system, flags);
      },
      [] {});
}

int file_size(sqlite3_file* file, sqlite3_int64* size) {
  sqlite3_file* system = as_file(file)->system();
  return system->pMethods->xFileSize(system, size);
}

int lock(sqlite3_file* file, int level) {
  sqlite3_file* system = as_file(file)->system();
  return system->pMethods->xLock(system, level);
}

int unlock(sqlite3_file* file, int level) {
  sqlite3_file* system = as_file(file)->system();
  return system->pMethods->xUnlock(system, level);
}

int check_reserved_lock(sqlite3_file* file, int* result) {
  sqlite3_file* system = as_file(file)->system();
  return system->pMethods->xCheckReservedLock(system, result);
}

int file_control(sqlite3_file* file, int operation, void* argument) {
  sqlite3_file* system = as_file(file)->system();
  return system->pMethods->xFileControl(system, operation, argument);
}

int sector_size(sqlite3_file* file) {
  sqlite3_file* system = as_file(file)->system();
  return system->pMethods->xSectorSize(system);
}

int device_characteristics(sqlite3_file* file) {
  sqlite3_file* system = as_file(file)->system();
  return system->pMethods->xDeviceCharacteristics(system);
}

int shm_map(sqlite3_file* file, int region, int size, int extend, void volatile** memory) {
  sqlite3_file* system = as_file(file)->system();
  return system->pMethods->xShmMap(system, region, size, extend, memory);
}

int shm_lock(sqlite3_file* file, int offset, int count, int flags) {
  sqlite3_file* system = as_file(file)->system();
  return system->pMethods->xShmLock(system, offset, count, flags);
}

void shm_barrier(sqlite3_file* file) {
  sqlite3_file* system = as_file(file)->system();
  system->pMethods->xShmBarrier(system);
}

int shm_unmap(sqlite3_file* file, int remove) {
  sqlite3_file* system = as_file(file)->system();
  return system->pMethods->xShmUnmap(system, remove);
}

// Version 2: without memory-mapped reads, which would pass by the counters.
constexpr sqlite3_io_methods methods{.iVersion = 2,
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

FileKind kind_of(int flags) {
  if ((flags & SQLITE_OPEN_MAIN_DB) != 0) return FileKind::database;
  return (flags & SQLITE_OPEN_WAL) != 0 ? FileKind::wal : FileKind::other;
}

int open(sqlite3_vfs* vfs, sqlite3_filename name, sqlite3_file* file, int flags, int* out_flags) {
  State* state = as_state(vfs);
  File* self = new (file) File{.base = {}, .state = state, .kind = kind_of(flags)};
  const int code = state->system->xOpen(state->system, name, self->system(), flags, out_flags);
  // SQLite closes what has methods, opened or not.
  self->base.pMethods = self->system()->pMethods != nullptr ? &methods : nullptr;
  return code;
}

int remove(sqlite3_vfs* vfs, const char* name, int sync_folder) {
  State* state = as_state(vfs);
  const int folder = state->skips_syncs ? 0 : sync_folder;
  return write_call(
      *state, [&] { return state->system->xDelete(state->system, name, folder); }, [] {});
}

}  // namespace

std::string_view to_string(Moment moment) {
  switch (moment) {
    case Moment::before:
      return "before";
    case Moment::during:
      return "during";
    case Moment::after:
      break;
  }
  return "after";
}

std::optional<Moment> moment_from(std::string_view text) {
  for (const Moment moment : {Moment::before, Moment::during, Moment::after}) {
    if (to_string(moment) == text) return moment;
  }
  return std::nullopt;
}

CountingVfs::CountingVfs(std::string name) : state_(std::make_unique<State>()) {
  State& state = *state_;
  state.name = std::move(name);
  state.system = sqlite3_vfs_find(nullptr);
  // What the shim does not change goes to the system's VFS as it is; those methods
  // do not look at the object they are called on.
  state.vfs = *state.system;
  state.vfs.pNext = nullptr;
  state.vfs.zName = state.name.c_str();
  state.vfs.pAppData = &state;
  state.vfs.szOsFile = static_cast<int>(sizeof(File)) + state.system->szOsFile;
  state.vfs.xOpen = open;
  state.vfs.xDelete = remove;
  sqlite3_vfs_register(&state.vfs, 0);
}

CountingVfs::~CountingVfs() { sqlite3_vfs_unregister(&state_->vfs); }

const std::string& CountingVfs::name() const { return state_->name; }

FileCounts CountingVfs::counts(FileKind kind) const {
  const auto& file = state_->files[static_cast<std::size_t>(kind)];
  return {.syncs = file.syncs,
          .writes = file.writes,
          .bytes_written = file.bytes_written,
          .reads = file.reads};
}

std::uint64_t CountingVfs::write_calls() const { return state_->write_calls; }

void CountingVfs::kill_at(std::uint64_t number, Moment moment) {
  state_->kill_number = number;
  state_->kill_moment = moment;
}

void CountingVfs::skip_syncs() { state_->skips_syncs = true; }

}  // namespace perdure
