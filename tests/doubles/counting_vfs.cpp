// Each write call takes a number; the one whose number is up is the process's last.

#include "doubles/counting_vfs.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): kill is POSIX, not C++.
#include <sqlite3.h>
#include <unistd.h>
#include <utility>

#include "doubles/vfs_shim.hpp"

namespace perdure {
namespace {

FileKind kind_of(int flags) {
  if ((flags & SQLITE_OPEN_MAIN_DB) != 0) return FileKind::database;
  return (flags & SQLITE_OPEN_WAL) != 0 ? FileKind::wal : FileKind::other;
}

void die() {
  kill(getpid(), SIGKILL);
  // The signal may reach the process a moment later; nothing may be written meanwhile.
  for (;;) pause();
}

}  // namespace

struct CountingVfs::State final : VfsShim {
  struct Atomics {
    std::atomic<std::uint64_t> syncs = 0;
    std::atomic<std::uint64_t> writes = 0;
    std::atomic<std::uint64_t> bytes_written = 0;
    std::atomic<std::uint64_t> reads = 0;
  };

  explicit State(std::string name) : VfsShim(std::move(name)) {}

  Atomics& counts(const File& file) { return files[static_cast<std::size_t>(kind_of(file.flags))]; }

  // Runs one write call, and dies around it if its number is up. `half` is what of it
  // happens when death comes in the middle.
  template <class Call, class Half>
  int write_call(Call call, Half half) {
    const bool is_last = ++write_calls == kill_number;
    if (!is_last) return call();
    if (kill_moment == Moment::during) half();
    if (kill_moment == Moment::after) call();
    die();
    return SQLITE_IOERR;
  }

  int read(File& file, const ReadSpan& span) override {
    ++counts(file).reads;
    return VfsShim::read(file, span);
  }

  int write(File& file, const WriteSpan& span) override {
    return write_call(
        [&] {
          ++counts(file).writes;
          counts(file).bytes_written += static_cast<std::uint64_t>(span.size);
          return VfsShim::write(file, span);
        },
        [&] {
          VfsShim::write(file, {.data = span.data, .size = span.size / 2, .offset = span.offset});
        });
  }

  int truncate(File& file, sqlite3_int64 size) override {
    return write_call([&] { return VfsShim::truncate(file, size); }, [] {});
  }

  int sync(File& file, int flags) override {
    const bool is_counted = kind_of(file.flags) == FileKind::wal && wal_syncs_left > 0;
    if (is_counted && --wal_syncs_left == 0) die();
    return write_call(
        [&] {
          ++counts(file).syncs;
          return skips_syncs ? SQLITE_OK : VfsShim::sync(file, flags);
        },
        [] {});
  }

  int remove(const char* path, int sync_folder) override {
    const int folder = skips_syncs ? 0 : sync_folder;
    return write_call([&] { return VfsShim::remove(path, folder); }, [] {});
  }

  std::array<Atomics, 3> files;
  std::atomic<std::uint64_t> write_calls = 0;
  std::atomic<std::uint64_t> wal_syncs_left = 0;  ///< 0: nobody dies of them.
  std::uint64_t kill_number = 0;
  Moment kill_moment = Moment::before;
  bool skips_syncs = false;
};

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

CountingVfs::CountingVfs(std::string name) : state_(std::make_unique<State>(std::move(name))) {}

CountingVfs::~CountingVfs() = default;

const std::string& CountingVfs::name() const { return state_->name(); }

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

void CountingVfs::kill_at_wal_sync(std::uint64_t nth) { state_->wal_syncs_left = nth; }

void CountingVfs::skip_syncs() { state_->skips_syncs = true; }

}  // namespace perdure
