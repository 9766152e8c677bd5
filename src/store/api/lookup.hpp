// What our layers ask a store, beyond what a program of a user needs: inboxes (perdure/runtime has
// `Mail`), blobs, the calls of a key, the segments of a line, receipts, and leases of named resources.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"

namespace perdure {

/// One stretch of history. The root of a session has no parent.
struct Segment {
  SegmentId id = 0;
  SessionId session{};  ///< Empty if that session was removed.
  Position first = 0;   ///< The position of its first entry.
  std::optional<SegmentId> parent{};
  Position parent_position = 0;  ///< Where it leaves the parent.
  bool operator==(const Segment&) const = default;
};

/// `worker` holds a name that is not a session: a file, a port, an account. What guards the thing
/// itself compares fences.
struct ResourceLease {
  std::string name{};
  WorkerId worker{};
  Fence fence = 0;
  bool operator==(const ResourceLease&) const = default;
};

/// Something for a session that others own: an approval, a resolution, a pause, a user's message.
struct InboxMessage {
  SessionId session{};
  MessageId id{};
  std::string kind{};
  Body body{};
  Timestamp at{};  ///< When it was posted, by the store's clock.
  bool operator==(const InboxMessage&) const = default;
};

/// The owner moves a message into the log and names it as consumed in the same commit, so it takes
/// effect once.
class Inbox {
 public:
  virtual ~Inbox() = default;

  /// Leaves a message and makes a waiting session due; needs no lease. A second post under the same
  /// id, consumed or not, changes nothing and is not an error.
  /// Fails: `not_found` if the session does not exist; `conflict` if it is moved to another store,
  /// with the place as subject; `invalid_argument`, also for a blob that was not put.
  [[nodiscard]] virtual Result<void> post(const InboxMessage& message) = 0;

  /// Messages not yet consumed, in order of arrival.
  /// Fails: `not_found`; `invalid_argument` for a bad limit.
  [[nodiscard]] virtual Result<std::vector<InboxMessage>> list(const SessionId& session,
                                                               std::size_t limit) = 0;
};

/// Bodies too large to travel with their entry, kept once by content, and put before the commit
/// that names them.
class Blobs {
 public:
  virtual ~Blobs() = default;

  /// Keeps the bytes and returns their name. Durable when it returns, and not collected for a
  /// while.
  /// Fails: `invalid_argument` beyond 900 MiB.
  [[nodiscard]] virtual Result<BlobRef> put(std::string_view bytes) = 0;

  /// The whole blob. Fails: `not_found`; `corrupted` if the bytes do not match their name.
  [[nodiscard]] Result<std::string> get(const BlobRef& ref);

  /// At most `size` bytes from `offset`; at or past the end fewer or none. Fails: `not_found`.
  [[nodiscard]] virtual Result<std::string> read(const BlobRef& ref, std::uint64_t offset,
                                                 std::uint64_t size) = 0;
};

class Lookup {
 public:
  virtual ~Lookup() = default;

  /// All calls that were ever intended under the key, and those that claim it, oldest first. Of
  /// removed sessions only one that holds or claims it.
  [[nodiscard]] virtual Result<std::vector<Call>> with_key(const Digest& key) = 0;
  /// Of `with_key`, those that were intended under the key.
  [[nodiscard]] Result<std::vector<Call>> by_key(const Digest& key);
  /// Of `with_key`, those that claim it (Call::claimed).
  [[nodiscard]] Result<std::vector<Call>> find_claims(const Digest& key);

  /// The segments the line to `as_of` runs through, oldest first.
  /// Fails: `not_found`.
  [[nodiscard]] virtual Result<std::vector<Segment>> line(const SessionId& session,
                                                          Point as_of) = 0;

  /// The receipt of a committed batch. After a commit whose answer was lost, repeat the batch
  /// instead: that also syncs it.
  /// Fails: `not_found` for the session.
  [[nodiscard]] virtual Result<std::optional<Receipt>> find_receipt(const SessionId& session,
                                                                    const BatchId& batch) = 0;

  /// As Ownership::acquire, for a named resource, which need not exist.
  /// Fails: `lease_held`; `lease_lost`; `invalid_argument` for a bad name.
  [[nodiscard]] virtual Result<ResourceLease> acquire_resource(const std::string& name,
                                                               const WorkerId& worker) = 0;

  /// Who holds the resource, alive or not; empty: it is free.
  [[nodiscard]] virtual Result<std::optional<Holder>> find_resource(const std::string& name) = 0;
};

/// Of the worker that creates a session.
inline constexpr Fence first_fence = 1;

/// The parts of a store, which must live as long as it does.
struct StoreRoles {
  Sessions& sessions;
  Ownership& ownership;
  Log& log;
  Ledger& ledger;
  Inbox& inbox;
  Blobs& blobs;
  Upkeep& upkeep;
  Lookup& lookup;
  Transfer& transfer;
};

// The values of columns and fields, by the names that `to_string` gives.

[[nodiscard]] std::optional<Status> status_from(std::string_view text);
[[nodiscard]] std::optional<CallState> call_state_from(std::string_view text);
[[nodiscard]] std::optional<EffectClass> effect_class_from(std::string_view text);

}  // namespace perdure
