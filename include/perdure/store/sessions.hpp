// Sessions: what people and workers find them by, and who may write to one.
//
// A session has one summary row, updated in the transaction that changes what it sums up, so lists
// never read the log. Its owner sets the status; whether it is interrupted or needs attention
// follows from the row.
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
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/log.hpp"

namespace perdure {

using Fence = std::uint64_t;

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

enum class Status : std::uint8_t { active, waiting, paused, completed, failed, cancelled };

/// Completed, failed or cancelled.
[[nodiscard]] constexpr bool has_ended(Status status) {
  return status == Status::completed || status == Status::failed || status == Status::cancelled;
}
[[nodiscard]] std::string_view to_string(Status status);

/// How a session came from another one.
enum class Lineage : std::uint8_t {
  fork,   ///< Shares the parent's log up to the point.
  child,  ///< Was spawned by the parent there; has its own log.
};

struct Parent {
  SessionId session{};
  Position position = 0;
  Lineage lineage = Lineage::fork;
  bool operator==(const Parent&) const = default;
};

/// What people call a session. Not part of its log: the last writer wins.
struct Annotation {
  std::optional<std::string> title{};
  std::optional<std::string> opening{};  ///< The message it began with, shortened by the caller.
  std::optional<std::vector<std::string>> tags{};
  std::optional<std::string> metadata{};  ///< A JSON object.
};

struct SessionSummary {
  SessionId id{};
  std::string title{};
  std::string opening{};
  std::vector<std::string> tags{};
  std::string metadata = "{}";
  Status status = Status::active;
  std::string wait_reason{};
  std::optional<Timestamp> wake_at{};
  std::optional<Parent> parent{};
  std::optional<Holder> holder{};  ///< Who owns it, alive or not.

  Position head = 0;           ///< The last entry of the active line.
  Position next = 1;           ///< The position the next entry gets.
  Version version = 0;         ///< Of the latest checkpoint ever made; 0 if there was none.
  Tally tally{};               ///< Over the active line, what a fork shares included.
  std::int64_t attention = 0;  ///< Calls of this session in doubt.
  bool restored = false;   ///< Came out of a backup or a salvage; until a commit sets the status.
  std::string moved_to{};  ///< Where it was moved (upkeep.hpp): here it is only read and removed.
  std::uint64_t revision = 0;  ///< Rises with every change of this row.
  Timestamp created_at{};
  Timestamp updated_at{};

  /// Active here, and no live worker runs it.
  [[nodiscard]] bool is_interrupted() const;
  [[nodiscard]] bool needs_attention() const;
  bool operator==(const SessionSummary&) const = default;
};

/// The caller mints the id, so a creation whose reply was lost can be repeated.
struct NewSession {
  SessionId id{};
  Annotation annotation{};
  Status status = Status::active;
  std::string wait_reason{};
  std::optional<Timestamp> wake_at{};
  struct Origin {
    SessionId session{};
    Point at{};  ///< For a child: where it was spawned.
    Lineage lineage = Lineage::fork;
  };
  std::optional<Origin> origin{};
};

enum class SessionSort : std::uint8_t { updated, created, title, turns, cost };

struct SessionQuery {
  std::string id_prefix{};         ///< What the id begins with, as UTF-8; empty: any.
  std::vector<Status> statuses{};  ///< Empty: any.
  std::optional<bool> needs_attention{};
  std::optional<SessionId> parent{};
  std::string tag{};       ///< Empty: any.
  std::string contains{};  ///< Within title or opening, ASCII case ignored; empty: any.
  SessionSort sort = SessionSort::updated;
  bool descending = true;  ///< Ties are broken by id, in the same direction.
  std::size_t limit = 50;
  std::string cursor{};  ///< From the page before, of the same query.
};

struct SessionPage {
  std::vector<SessionSummary> sessions{};
  std::string next{};       ///< Cursor of the next page; empty at the end.
  bool is_damaged = false;  ///< Part of the list cannot be read: sessions may be missing.
};

class Sessions {
 public:
  virtual ~Sessions() = default;

  /// Creates a session with an empty log, or, as a fork, with everything its parent has up to the
  /// origin's point, at no cost in bytes. Store::create also writes its first batch.
  /// Fails: `already_exists`, also for one that is on its way here; `not_found` if the origin does
  /// not exist; `conflict` if that is moved, with the place as subject; `invalid_argument` for a
  /// bad id, name, tag or metadata.
  [[nodiscard]] virtual Result<SessionSummary> create(const NewSession& session) = 0;

  /// Fails: `not_found`.
  [[nodiscard]] virtual Result<SessionSummary> read(const SessionId& id) = 0;

  /// One page of matching sessions. A session that changes while pages are read may be seen twice
  /// or not at all. Of a damaged list what can be read is returned.
  /// Fails: `invalid_argument` for a bad limit, a prefix that is not UTF-8, or a cursor of another
  /// query.
  [[nodiscard]] virtual Result<SessionPage> list(const SessionQuery& query) = 0;

  /// Sessions without a live owner that a worker should take up now, longest due first: active, or
  /// waiting with a wake time that has come or a message in the inbox. One that is moved never is.
  /// Fails: `invalid_argument` for a bad limit.
  [[nodiscard]] virtual Result<std::vector<SessionSummary>> due(std::size_t limit) = 0;

  /// Replaces the given parts of the annotation; needs no lease.
  /// Fails: `not_found`; `conflict` if it is moved; `invalid_argument`.
  [[nodiscard]] virtual Result<SessionSummary> annotate(const SessionId& id,
                                                        const Annotation& part) = 0;
};

class Ownership {
 public:
  virtual ~Ownership() = default;

  /// Adds a worker, for its lease time from now, and no longer than this store object.
  /// Fails: `already_exists`; `invalid_argument` for a lease time below 1 ms or beyond 24 hours.
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
};

}  // namespace perdure
