// An SQLite VFS over the system's: it counts what reaches the files, and can end
// the process with SIGKILL around a chosen call.
//
// Only calls that change a file count as write calls: xWrite, xSync, xTruncate and
// xDelete. The shared memory of a WAL does not pass a VFS's files, and what a dying
// process leaves there is rebuilt by the next one.
//
// Threads: counting is safe from any thread; choose and skip before the first use.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace perdure {

enum class FileKind : std::uint8_t { database, wal, other };

struct FileCounts {
  std::uint64_t syncs = 0;
  std::uint64_t writes = 0;
  std::uint64_t bytes_written = 0;
  std::uint64_t reads = 0;

  bool operator==(const FileCounts&) const = default;
};

/// When death comes: before the call, half-way through what it writes, or after it.
enum class Moment : std::uint8_t { before, during, after };

[[nodiscard]] std::string_view to_string(Moment moment);
[[nodiscard]] std::optional<Moment> moment_from(std::string_view text);

class CountingVfs {
 public:
  /// Registers itself with SQLite under `name`, until the end of the object.
  explicit CountingVfs(std::string name);
  ~CountingVfs();
  CountingVfs(const CountingVfs&) = delete;
  CountingVfs& operator=(const CountingVfs&) = delete;

  [[nodiscard]] const std::string& name() const;
  [[nodiscard]] FileCounts counts(FileKind kind) const;
  /// Write calls so far, over all files.
  [[nodiscard]] std::uint64_t write_calls() const;

  /// Ends the process at write call `number`, counted from 1.
  void kill_at(std::uint64_t number, Moment moment);
  /// Ends the process before the `nth` sync of a WAL from now on, 1 or more: what that was to sync
  /// is written, and nobody was told that it is. At any time, from any thread.
  void kill_at_wal_sync(std::uint64_t nth);
  /// Counts syncs but leaves them out. What a killed process wrote stays in the
  /// kernel's cache, so a test of process death loses nothing by it but time.
  void skip_syncs();

  struct State;

 private:
  std::unique_ptr<State> state_;
};

}  // namespace perdure
