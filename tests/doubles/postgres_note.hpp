// Where the shared server is: a file beside the test programs, named after the process it is kept
// for, and locked as long as somebody keeps it. A note without a lock is of a run long past.
//
// A test looks for the notes of its own process, its parent, and so on: under ctest it finds the server
// of its own run, whatever else runs at the same time.

#pragma once

#include <optional>
#include <string>
#include <sys/types.h>

namespace perdure {

class PostgresNote {
 public:
  /// Of a server in `folder`. Tidies up after keepers that were killed: their notes, and the folders
  /// those name. The lock is the process's: nobody forks after this.
  PostgresNote(pid_t kept_for, const std::string& address, const std::string& folder);
  ~PostgresNote();
  PostgresNote(const PostgresNote&) = delete;
  PostgresNote& operator=(const PostgresNote&) = delete;

  /// The address of the server that is kept for this process or one it descends from.
  [[nodiscard]] static std::optional<std::string> find();

 private:
  std::string path_;
  int file_ = -1;
};

}  // namespace perdure
