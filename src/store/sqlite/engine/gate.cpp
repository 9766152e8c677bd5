// A file is known by device and inode, not by name. Nothing else is asked for: a file whose times
// were asked for gets new ones at its next write, and the kernel then writes its inode to disk with
// the next sync of a neighbour, the WAL: a second write to disk for every commit.

#include "sqlite/engine/gate.hpp"

#include <expected>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <linux/stat.h>
#include <optional>
#include <string>
#include <sys/stat.h>
#include <system_error>
#include <tuple>
#include <utility>

#include "perdure/core/error.hpp"
#include "sqlite/engine/lock_file.hpp"

namespace perdure::sqlite {

Gate::Gate(std::string path, LockFile& lock_file)
    : path_(std::move(path)), log_path_(path_ + "-wal"), lock_file_(lock_file) {}

void Gate::open() {
  is_open_ = true;
  file_ = identity_of(path_);
  log_ = identity_of(log_path_);
  lock_ = identity_of(lock_file_.path());
  failures_ = lock_file_.failures().seen;
}

Result<void> Gate::check() {
  if (!closed_ && is_open_ && lock_file_.failures().seen != failures_) {
    close("a sync of the store failed, in another process; it takes no more writes. Reopen it.");
  }
  if (!closed_ && is_open_ &&
      (identity_of(path_) != file_ || identity_of(lock_file_.path()) != lock_)) {
    close(
        fmt::format("{} or its lock file was moved, replaced or deleted while it was open. "
                    "Put it back, then reopen it.",
                    path_));
  }
  // SQLite itself deletes it only when the last connection closes, and ours is open; a checkpoint
  // that empties it keeps the file.
  if (!closed_ && is_open_ && identity_of(log_path_) != log_) {
    close(fmt::format(
        "{} was moved, replaced or deleted while the store was open, which takes no "
        "more writes. Reopen it; if the log was replaced, put the right one back first.",
        log_path_));
    was_log_ = true;
  }
  if (closed_) return std::unexpected(*closed_);
  return {};
}

// An empty one was made by somebody who opened the store since; who writes has their turn.
bool Gate::has_log_in_hand() const {
  std::error_code none;
  const bool is_elsewhere = std::filesystem::file_size(log_path_, none) > 0 && !none;
  return was_log_ && !is_elsewhere && identity_of(path_) == file_ &&
         identity_of(lock_file_.path()) == lock_;
}

void Gate::close_for_all() {
  auto failures = lock_file_.failures();
  ++failures.seen;
  lock_file_.set_failures(failures);
  close("a sync of the store failed; it takes no more writes. Reopen it.");
}

void Gate::close(std::string why) { closed_ = Error{ErrorCode::closed, std::move(why), {}}; }

void Gate::close_as_damaged(std::string why) {
  closed_ = Error{ErrorCode::corrupted, std::move(why), {}};
}

Gate::Identity Gate::identity_of(const std::string& path) {
  struct statx found{};
  if (::statx(AT_FDCWD, path.c_str(), 0, STATX_INO, &found) != 0) return std::nullopt;
  return std::tuple(found.stx_dev_major, found.stx_dev_minor, found.stx_ino);
}

}  // namespace perdure::sqlite
