// Notices that the store changed, whoever changed it.
//
// Every writer touches the lock file after its COMMIT; the kernel then wakes a
// thread here, which asks SQLite whether the data really changed. The thread runs
// from the first wait on: giving a watch up costs the kernel some 20 ms, which who
// only looks must not pay at the end. A writer that died between COMMIT and touch is
// noticed at the next look, `look_every` at the latest.

#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "core/api/own_process.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/time.hpp"
#include "sqlite/engine/connection.hpp"
#include "sqlite/engine/lock_file.hpp"
#include "sqlite/engine/readers.hpp"

namespace perdure::sqlite {

class Watcher {
 public:
  /// Both must outlive this.
  Watcher(Readers& readers, const LockFile& lock_file);
  ~Watcher();
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

  [[nodiscard]] Result<std::uint64_t> wait(std::uint64_t since, Duration timeout);

 private:
  Result<void> start(const std::unique_lock<std::mutex>& held);
  Result<void> look(const std::unique_lock<std::mutex>& held);
  void watch();

  const OwnProcess process_;
  Readers& readers_;
  const LockFile& lock_file_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::unique_ptr<Connection> connection_;
  std::int64_t data_version_ = 0;
  std::uint64_t number_ = 1;
  int notify_ = -1;
  int stop_ = -1;
  std::thread thread_;
};

}  // namespace perdure::sqlite
