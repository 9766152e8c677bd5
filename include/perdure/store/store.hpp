// Where a session outlives the process that runs it.
//
// A store keeps, for each session, an ordered log of entries, the positions that
// are named in it, the ledger of its calls, its inbox, and who may write. Every
// method of every role is one transaction: it happens entirely or not at all, and
// once it returns a value, its effect survives as `Durability` says. (Enrolling,
// renewing, retiring and releasing survive the process only: a machine that dies
// takes its workers with it.)
//
// Any method may fail with `unavailable` (the outside world; the same call may
// succeed later), any write also with `commit_unknown` (see `commit`) or `closed`
// (a sync failed; reopen the store), any read also with `corrupted`.
//
// Threads: every method may be called from any thread at any time.
// Time: stamps and leases come from the store's own clock.
// Backends: SQLite; memory keeps every rule but survival.
// tests/contract is these headers made executable, for every backend.

#pragma once

#include "perdure/core/error.hpp"
#include "perdure/store/blobs.hpp"
#include "perdure/store/changes.hpp"
#include "perdure/store/commit.hpp"
#include "perdure/store/inbox.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/ownership.hpp"
#include "perdure/store/retention.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/transfer.hpp"
#include "perdure/store/upkeep.hpp"

namespace perdure {

class Store {
 public:
  virtual ~Store() = default;

  /// The one way to write to a session. In this order:
  /// 1. A batch id that the session knows returns its first receipt and does
  ///    nothing else, whoever asks and whatever the batch holds.
  /// 2. The lease must be the session's present one.
  /// 3. The head must be `expected_head`.
  /// 4. All of the batch is applied, or none of it.
  ///
  /// After `commit_unknown` nothing may be done that rests on the commit, until
  /// the same batch, committed again, has returned its receipt.
  ///
  /// Fails: `not_found` if the session or the origin of a child does not exist;
  /// `lease_lost`, also once the session is moved to another store; `conflict` for another head (the subject is the head there is),
  /// for a call that was never intended or cannot take that step, for a key that
  /// another call holds (the subject names it), for a message that is unknown or
  /// consumed, for a child whose origin is moved; also if the batch makes the session `completed` or
  /// `failed` while a call of it has no outcome (the subject names it), or intends or dispatches a
  /// call, or creates a session, while the session has ended and the batch does not reopen it; `already_exists` for a child's or a call's identity in use;
  /// `invalid_argument` for a bad name, something named twice, a position that is
  /// not on the line, a blob that was not put.
  [[nodiscard]] virtual Result<Receipt> commit(const Lease& lease, const Batch& batch) = 0;

  /// Creates a session, grants it to `worker` and commits its first batch, all in one transaction:
  /// whoever sees the session sees what it began with. `first` expects the position that the session
  /// is forked at as its head, or 0. The same `first` sent again returns the same lease and receipt,
  /// and does nothing else; the lease may be outdated by then.
  /// Fails: as Sessions::create; `lease_lost` if `worker` is not live; as commit.
  [[nodiscard]] virtual Result<Created> create(const NewSession& session, const WorkerId& worker,
                                               const Batch& first) = 0;

  [[nodiscard]] virtual Sessions& sessions() = 0;
  [[nodiscard]] virtual Ownership& ownership() = 0;
  [[nodiscard]] virtual Log& log() = 0;
  [[nodiscard]] virtual Ledger& ledger() = 0;
  [[nodiscard]] virtual Inbox& inbox() = 0;
  [[nodiscard]] virtual Blobs& blobs() = 0;
  [[nodiscard]] virtual Changes& changes() = 0;
  [[nodiscard]] virtual Retention& retention() = 0;
  [[nodiscard]] virtual Upkeep& upkeep() = 0;
  [[nodiscard]] virtual Transfer& transfer() = 0;
};

}  // namespace perdure
