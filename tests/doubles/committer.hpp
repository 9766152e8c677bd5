// Commits that wait for each other: each on a thread of its own, and a way to know that
// all of them are queued, so that a test can make a group of them.

#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <sys/types.h>
#include <thread>
#include <vector>

#include "perdure/core/time.hpp"
#include "perdure/store/store.hpp"

namespace perdure {

/// Counts who asks for the time: a commit does so just before it queues.
class AskedClock final : public Clock {
 public:
  [[nodiscard]] Timestamp now() const override {
    ++asked_;
    return system_clock().now();
  }
  [[nodiscard]] Uptime uptime() const override { return system_clock().uptime(); }
  [[nodiscard]] int asked() const { return asked_; }

 private:
  mutable std::atomic<int> asked_ = 0;
};

/// One commit on a thread of its own.
class Committer {
 public:
  /// The store must outlive this.
  Committer(Store& store, const Lease& lease, Batch batch);

  [[nodiscard]] bool is_asleep() const;
  /// Waits for the answer.
  [[nodiscard]] Result<Receipt> finish();

 private:
  const Batch batch_;
  std::optional<Result<Receipt>> answer_;
  std::atomic<pid_t> id_ = 0;
  std::jthread thread_;
};

using Committers = std::vector<std::unique_ptr<Committer>>;

/// True once all of them wait, and the store's clock was asked so often.
[[nodiscard]] bool wait_until_queued(const Committers& committers, const AskedClock& clock,
                                     int asked);

}  // namespace perdure
