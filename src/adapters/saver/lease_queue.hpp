// Taking turns on a session: its lease for as long as one write takes.
//
// A saver owns nothing between two calls, so that any process may put to any thread. It
// waits for another one that writes, a bounded time, and never for one that is dead.

#pragma once

#include <array>
#include <functional>
#include <mutex>
#include <string>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/store.hpp"

namespace perdure::saver {

/// The worker in whose name a saver writes. Enrolled at its first use, retired with this.
class SaverWorker {
 public:
  struct Rules {
    Duration lease_time{};
    Clock* clock = nullptr;
    IdSource* ids = nullptr;
  };

  /// The store must outlive this.
  SaverWorker(Store& store, const Rules& rules) : store_(store), rules_(rules) {}
  ~SaverWorker();
  SaverWorker(const SaverWorker&) = delete;
  SaverWorker& operator=(const SaverWorker&) = delete;

  /// Enrolled, and with most of its lease time to go.
  [[nodiscard]] Result<WorkerId> ready();

 private:
  Result<void> enroll();

  Store& store_;
  const Rules rules_;
  std::mutex mutex_;
  WorkerId id_;
  Uptime renewed_{};
};

/// What one turn may use.
struct LeaseScope {
  const Lease& lease;
  const SessionSummary& session;
};

class LeaseQueue {
 public:
  struct Rules {
    Duration wait{};
    Clock* clock = nullptr;
  };

  /// Both must outlive this.
  LeaseQueue(Store& store, SaverWorker& worker, const Rules& rules)
      : store_(store), worker_(worker), rules_(rules) {}

  /// Runs `work` with the session's lease, which it takes and gives back. The session is
  /// made if there is none. Where the lease was lost on the way, all of it is done again;
  /// nothing was written then.
  /// Fails: as `work`; `lease_held` if it was not let go in time.
  [[nodiscard]] Result<void> run(const NewSession& session,
                                 const std::function<Result<void>(const LeaseScope&)>& work);

  /// Repeats `action` while it fails with `lease_held`, and there is time. Not for code of the very
  /// session (calls.hpp).
  [[nodiscard]] Result<void> wait_for(const SessionId& session,
                                      const std::function<Result<void>()>& action);

 private:
  Result<void> run_once(const NewSession& session,
                        const std::function<Result<void>(const LeaseScope&)>& work);
  Result<Lease> acquire(const NewSession& session);

  Store& store_;
  SaverWorker& worker_;
  const Rules rules_;
  /// Threads share one lease of the worker, which does not keep them apart. One of these does, by session.
  std::array<std::mutex, 64> in_turn_;
};

}  // namespace perdure::saver
