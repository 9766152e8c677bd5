// Which workers live, as this process can tell.
//
// A worker's row lives while its lease time runs on the machine start it was
// written under: by the kernel's boot id, for the uptime of another start means nothing.
// Beyond that, its process must hold its lock; a process of this machine that lost the
// lock is dead, whatever the row says.

#pragma once

#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "perdure/core/error.hpp"
#include "perdure/core/time.hpp"
#include "sqlite/engine/lock_file.hpp"

namespace perdure::sqlite {

struct WorkerRow {
  std::int64_t number = 0;
  std::string boot;
  Uptime until{};
};

class Workers {
 public:
  /// `boot`: names this start of the machine; empty: the kernel does not say.
  Workers(LockFile& lock_file, const Clock& clock, std::string boot)
      : lock_file_(lock_file), clock_(clock), boot_(std::move(boot)) {}

  /// False: another process holds it.
  [[nodiscard]] Result<bool> hold(std::int64_t number) {
    auto held = lock_file_.hold_worker(number);
    if (!held || !*held) return held;
    const std::scoped_lock lock(mutex_);
    own_.insert(number);
    return true;
  }
  void drop(std::int64_t number) {
    const std::scoped_lock lock(mutex_);
    if (own_.erase(number) > 0) lock_file_.drop_worker(number);
  }

  /// Whether this store object enrolled it.
  [[nodiscard]] bool holds(std::int64_t number) const {
    const std::scoped_lock lock(mutex_);
    return own_.contains(number);
  }
  /// Whether the process that enrolled it still has the store open, its lease time over or not.
  [[nodiscard]] bool has_process(const WorkerRow& worker) const {
    return worker.boot == boot_ &&
           (holds(worker.number) || lock_file_.is_held_elsewhere(worker.number));
  }
  [[nodiscard]] bool is_alive(const WorkerRow& worker) const {
    return worker.until > clock_.uptime() && has_process(worker);
  }

  [[nodiscard]] const std::string& boot() const { return boot_; }

 private:
  LockFile& lock_file_;
  const Clock& clock_;
  const std::string boot_;
  mutable std::mutex mutex_;
  std::set<std::int64_t> own_;
};

}  // namespace perdure::sqlite
