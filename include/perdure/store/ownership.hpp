// Who may write to a session.
//
// A worker is one run of one process, under its own id. It renews one row, for all sessions it
// owns. Safety never depends on time: each change of owner raises the session's fence, every commit
// carries the fence it was granted, and an older one writes nothing. Time, by the store's clock,
// only decides when another worker may take over. On one machine a worker whose process has ended
// is recognised at once; elsewhere after its lease time.

#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/time.hpp"

namespace perdure {

using Fence = std::uint64_t;
/// Of the worker that creates a session.
inline constexpr Fence first_fence = 1;

enum class Sync : std::uint8_t {
  now,  ///< On disk when commit returns.
  /// Survives the process at once, the machine from the next sync on. A batch that intends or
  /// dispatches a call is synced now all the same.
  later,
};

/// `worker` is the only one to write to the session, until the lease is outdated.
struct Lease {
  SessionId session{};
  WorkerId worker{};
  Fence fence = 0;
  bool operator==(const Lease&) const = default;
};

/// `worker` holds a name that is not a session: a file, a port, an account. What guards the thing
/// itself compares fences.
struct ResourceLease {
  std::string name{};
  WorkerId worker{};
  Fence fence = 0;
  bool operator==(const ResourceLease&) const = default;
};

struct NewWorker {
  WorkerId id{};
  std::string host{};
  std::int64_t pid = 0;
  Duration lease_time{30'000};
  bool operator==(const NewWorker&) const = default;
};

struct Holder {
  WorkerId worker{};
  std::string host{};
  std::int64_t pid = 0;
  Timestamp since{};
  Fence fence = 0;
  bool alive = false;
  bool gone = false;  ///< Its process is known to have ended.
  bool operator==(const Holder&) const = default;
};

class Ownership {
 public:
  virtual ~Ownership() = default;

  /// Adds a worker, for its lease time from now, and no longer than this store object.
  /// Fails: `already_exists`; `invalid_argument` for a lease time below 1 ms or beyond
  /// `lease_time_max`.
  [[nodiscard]] virtual Result<void> enroll(const NewWorker& worker) = 0;

  /// Restarts the worker's lease time. Too late is not an error: what others took meanwhile stays
  /// theirs, behind a higher fence.
  /// Fails: `lease_lost` if the worker has retired or this store object did not enroll it.
  [[nodiscard]] virtual Result<void> renew(const WorkerId& worker) = 0;

  /// Gives up all the worker holds and deletes it. Twice is not an error. One that holds nothing
  /// and whose process is gone, or that was last live 30 days ago, may be deleted without it.
  [[nodiscard]] virtual Result<void> retire(const WorkerId& worker) = 0;

  /// Grants the session to `worker`. Its present owner gets the lease it has; every other grant
  /// raises the fence. With Sync::now a fence is never reissued. With Sync::later a power loss may
  /// undo the grant and reissue its fence: for a fence that is shown to the store alone.
  /// Fails: `not_found`; `conflict` if it was moved to another store, with the place as subject;
  /// `lease_lost` if `worker` itself is not live; else `lease_held` while another worker's lease is
  /// live, with that worker as subject.
  [[nodiscard]] virtual Result<Lease> acquire(const SessionId& session, const WorkerId& worker,
                                              Sync sync = Sync::now) = 0;

  /// Gives the session up. An outdated lease is not an error.
  [[nodiscard]] virtual Result<void> release(const Lease& lease) = 0;

  /// As `acquire`, for a named resource, which need not exist.
  /// Fails: `lease_held`; `lease_lost`; `invalid_argument` for a bad name.
  [[nodiscard]] virtual Result<ResourceLease> acquire_resource(const std::string& name,
                                                               const WorkerId& worker) = 0;

  /// As `release`.
  [[nodiscard]] virtual Result<void> release_resource(const ResourceLease& lease) = 0;

  /// Who holds the resource, alive or not; empty: it is free.
  [[nodiscard]] virtual Result<std::optional<Holder>> find_resource(const std::string& name) = 0;
};

}  // namespace perdure
