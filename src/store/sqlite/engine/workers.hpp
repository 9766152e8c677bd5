// Which workers live, as this process can tell.
//
// A worker's row lives while its lease time runs on the machine start it was
// written under. Beyond that, its process must hold its lock; a process of this
// machine that lost the lock is dead, whatever the row says.

#pragma once

#include <cstdint>
#include <mutex>
#include <set>
#include <string>

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
  /// `boot`: names this start of the machine; empty: by the kernel's word.
  Workers(LockFile& lock_file, const Clock& clock, const std::string& boot = {});

  /// False: another process holds it.
  [[nodiscard]] Result<bool> hold(std::int64_t number);
  void drop(std::int64_t number);
  /// Whether this store object enrolled it.
  [[nodiscard]] bool holds(std::int64_t number) const;
  /// Whether the process that enrolled it still has the store open, its lease time over or not.
  [[nodiscard]] bool has_process(const WorkerRow& worker) const;
  [[nodiscard]] bool is_alive(const WorkerRow& worker) const;

  /// Names this start of the machine; empty: the kernel does not say.
  [[nodiscard]] const std::string& boot() const { return boot_; }

 private:
  LockFile& lock_file_;
  const Clock& clock_;
  const std::string boot_;
  mutable std::mutex mutex_;
  std::set<std::int64_t> own_;
};

}  // namespace perdure::sqlite
