// Who may write to a session.
//
// A worker is one run of one process, under an id of its own. It renews one row;
// every session it owns lives as long as that row. Safety never rests on time:
// each change of hands raises the session's fence, every commit carries the
// fence it was granted, and an older one writes nothing. Time only decides when
// another worker may take over. The store's clock judges, never the caller's.
//
// On one machine a worker whose process is gone is recognised at once, by a lock
// the kernel released when it died; elsewhere after its lease time.

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
  /// Survives the process at once, the machine from the next sync on. A batch that
  /// intends or dispatches a call is synced now all the same.
  later,
};

/// Says of a session: `worker` is the only one to write, until outdated.
struct Lease {
  SessionId session{};
  WorkerId worker{};
  Fence fence = 0;

  bool operator==(const Lease&) const = default;
};

/// Says of a name that is not a session (a file, a port, an account): `worker`
/// holds it. Whoever guards the thing itself compares fences.
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
  bool gone = false;  ///< Its process is known to have ended; it runs nothing any more.

  bool operator==(const Holder&) const = default;
};

class Ownership {
 public:
  virtual ~Ownership() = default;

  /// Makes a worker known; it lives for its lease time from now, and no longer
  /// than this store object.
  /// Fails: `already_exists`; `invalid_argument` for a lease time below 1 ms or
  /// beyond `lease_time_max`.
  [[nodiscard]] virtual Result<void> enroll(const NewWorker& worker) = 0;

  /// Starts the worker's lease time anew. Coming late is not an error: what
  /// others took meanwhile stays theirs, behind a higher fence.
  /// Fails: `lease_lost` if the worker has retired or this store object did not
  /// enroll it.
  [[nodiscard]] virtual Result<void> renew(const WorkerId& worker) = 0;

  /// Gives up all the worker holds and forgets it: its id is free again. Doing so
  /// twice is not an error. One that holds nothing and whose process is gone, or that was
  /// last live 30 days ago, may be forgotten without it.
  [[nodiscard]] virtual Result<void> retire(const WorkerId& worker) = 0;

  /// Grants the session to `worker`. Its present owner gets the lease it has;
  /// every other grant raises the fence. Synced now, as it is without a word, the fence is
  /// given once for ever. Synced later, a machine that dies may take the grant back and
  /// give its fence again: enough for whoever shows the fence to nobody but the store,
  /// since a commit under it that is synced has synced the grant. The lease that an owner
  /// has already is not synced anew.
  /// Fails: `not_found`; `conflict` if it was moved to another store, with the
  /// place as subject: it runs there; `lease_lost` if `worker` itself is not live; else
  /// `lease_held` while another worker's lease is live, with that worker as subject.
  [[nodiscard]] virtual Result<Lease> acquire(const SessionId& session, const WorkerId& worker,
                                              Sync sync = Sync::now) = 0;

  /// Gives the session up. A lease that is outdated already is not an error.
  [[nodiscard]] virtual Result<void> release(const Lease& lease) = 0;

  /// As `acquire`, for a named resource, which need not exist before.
  /// Fails: `lease_held`; `lease_lost`; `invalid_argument` for a bad name.
  [[nodiscard]] virtual Result<ResourceLease> acquire_resource(const std::string& name,
                                                               const WorkerId& worker) = 0;

  /// As `release`.
  [[nodiscard]] virtual Result<void> release_resource(const ResourceLease& lease) = 0;

  /// Who holds the resource, alive or not; empty if nobody does.
  [[nodiscard]] virtual Result<std::optional<Holder>> find_resource(const std::string& name) = 0;
};

}  // namespace perdure
