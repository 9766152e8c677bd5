// A store: where a session outlives the process that runs it.
//
// For each session it keeps an ordered log of entries, the positions that are named in it, the
// ledger of its calls, its inbox, and who may write. Every method of every role is one transaction,
// which survives as `Durability` says once it has returned; enrolling, renewing, retiring and
// releasing survive the process only.
//
// Any method may fail with `unavailable`, any write also with `commit_unknown` (see `commit`) or
// `closed` (a sync failed; reopen the store), any read also with `corrupted`.
//
// Every method may be called from any thread at any time. Times are by the store's own clock.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/upkeep.hpp"

namespace perdure {

// Roles of our own layers.
class Blobs;
class Inbox;
class Lookup;
class Transfer;
struct StoreRoles;

/// Names the head that the batch leaves behind; its version is the next number.
struct NewCheckpoint {
  std::string reason{};
  std::string label{};
  std::string metadata = "{}";  ///< A JSON object.
};

struct StatusChange {
  Status status = Status::active;
  std::string wait_reason{};
  std::optional<Timestamp> wake_at{};
};

/// What a finished commit survives.
enum class Durability : std::uint8_t {
  full,     ///< The death of the process and of the machine.
  process,  ///< The death of the process.
};

/// A commit: everything one step changes, in one atomic batch.
struct Batch {
  BatchId id{};
  Position expected_head = 0;
  /// Opens a new line at this point of the session instead of its head; it becomes the active one.
  std::optional<Point> branch_from{};
  std::vector<NewEntry> entries{};
  std::vector<CallChange> calls{};  ///< Applied in order, after the entries.
  std::optional<NewCheckpoint> checkpoint{};
  std::optional<StatusChange> status{};
  std::optional<Annotation> annotation{};
  std::vector<MessageId> consumed{};
  std::vector<NewSession> children{};  ///< They see the batch applied.
  Sync sync = Sync::now;
};

struct Created {
  Lease lease{};
  Receipt receipt{};
  bool operator==(const Created&) const = default;
};

struct StoreInfo {
  std::string backend{};   ///< "memory", "sqlite" or "postgres".
  std::string location{};  ///< As it was opened, without a password.
  std::string engine{};    ///< The database library and its version.
  std::int64_t format = 0;
  std::string incarnation{};  ///< New for every store, also for one restored from a backup.
  Durability durability = Durability::full;
  // Since this store object was opened:
  std::uint64_t commits = 0;       ///< Batches committed, repeats not counted.
  std::uint64_t transactions = 0;  ///< Groups of writes that shared one sync.
  std::uint64_t rows_read = 0;     ///< Rows that queries returned, internal ones included.
};

class Store {
 public:
  virtual ~Store();

  /// The one way to write to a session. In this order:
  /// 1. A batch id that the session knows returns its first receipt and does nothing else.
  /// 2. The lease must be the session's present one.
  /// 3. The head must be `expected_head`.
  /// 4. All of the batch is applied, or none of it.
  ///
  /// After `commit_unknown` do nothing that depends on the commit until the same batch, committed
  /// again, has returned its receipt.
  ///
  /// Fails: `not_found` if the session or the origin of a child does not exist; `lease_lost`, also
  /// once the session is moved; `conflict` for another head (the subject is the head there is), for
  /// a call that cannot take that step, for a key that another call holds (the subject names it),
  /// for a message that is unknown or consumed, for a child whose origin is moved, for a batch that
  /// completes or fails the session while a call has no outcome (the subject names it), or that
  /// makes calls or sessions in one that has ended; `already_exists` for a child's or a call's
  /// identity in use; `invalid_argument` for a bad name, something named twice, a position that is
  /// not on the line, a blob that was not put.
  [[nodiscard]] virtual Result<Receipt> commit(const Lease& lease, const Batch& batch) = 0;

  /// Creates a session, grants it to `worker` and commits its first batch, in one transaction.
  /// `first` expects the position that the session is forked at as its head, or 0. The same `first`
  /// sent again returns the same lease, which may be outdated, and receipt.
  /// Fails: as Sessions::create; `lease_lost` if `worker` is not live; as commit.
  [[nodiscard]] virtual Result<Created> create(const NewSession& session, const WorkerId& worker,
                                               const Batch& first) = 0;

  /// A number that rises when the store changes. It means something to this store object only.
  [[nodiscard]] Result<std::uint64_t> change_number();

  /// Returns the change number as soon as it is above `since`, at the latest after `timeout`, which
  /// is not an error. What another process wrote before can then be read.
  [[nodiscard]] virtual Result<std::uint64_t> wait_for_change(std::uint64_t since,
                                                              Duration timeout) = 0;

  [[nodiscard]] virtual StoreInfo info() const = 0;

  /// What the store's guarantees depend on: syncs, replication, poolers. At least one remark.
  [[nodiscard]] virtual Result<std::vector<Remark>> doctor() = 0;

  /// Puts on disk what `Sync::later` left in memory. Does nothing under `Durability::process`.
  /// Fails: `closed` if the sync failed, now or before.
  [[nodiscard]] virtual Result<void> sync() = 0;

  /// While this is the same, nothing that was committed since was lost, synced or not. A crash of
  /// the machine or the server changes it, and a restored backup has another one. Empty: unknown.
  [[nodiscard]] virtual Result<std::string> loss_token() = 0;

  [[nodiscard]] Sessions& sessions();
  [[nodiscard]] Ownership& ownership();
  [[nodiscard]] Log& log();
  [[nodiscard]] Ledger& ledger();
  [[nodiscard]] Inbox& inbox();
  [[nodiscard]] Blobs& blobs();
  [[nodiscard]] Upkeep& upkeep();
  [[nodiscard]] Lookup& lookup();
  [[nodiscard]] Transfer& transfer();

 protected:
  explicit Store(const StoreRoles& roles);
  /// The roles of a store that this one wraps.
  [[nodiscard]] static const StoreRoles& roles_of(const Store& store) { return *store.roles_; }

 private:
  const std::unique_ptr<const StoreRoles> roles_;
};

struct OpenOptions {
  Durability durability = Durability::full;
  /// Make the store if it is not there.
  bool create = true;
  /// How long a write waits for another process that is writing, before `unavailable`.
  Duration write_wait{10'000};
  /// Both must outlive the store. Null: the machine's.
  Clock* clock = &system_clock();
  IdSource* ids = &random_ids();
};

/// `memory:`, the path of a file, with or without `sqlite:` in front, or a server:
/// `postgres://USER:PASSWORD@HOST/DATABASE`. The folder of a file must exist. One process may open
/// the same store several times.
/// Fails: `not_found` if it is not there and `create` is off; `unsupported` for a newer format;
/// `invalid_argument` for a scheme this build lacks; `corrupted` if it is not a store, or one whose
/// file is empty or gone; `unavailable`, with the subject `authority` if the caller may not open
/// it.
[[nodiscard]] Result<std::unique_ptr<Store>> open_store(const std::string& location,
                                                        const OpenOptions& options = {});

}  // namespace perdure
