// Everything a memory store holds, as plain values in plain tables.
//
// What is derived (a holder, whether it is alive) is not kept but worked out when
// it is asked for. What must not be searched for in long histories is kept twice:
// the running totals of each entry, and who holds which key.

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "perdure/store/commit.hpp"
#include "perdure/store/inbox.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/ownership.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/transfer.hpp"
#include "perdure/store/upkeep.hpp"
#include "rules/moves.hpp"
#include "rules/retention.hpp"

namespace perdure::memory {

struct WorkerRow {
  NewWorker worker;
  Uptime until{};

  bool operator==(const WorkerRow&) const = default;
};

/// Who holds a session or a resource. The fence outlives the owner: it never goes down.
struct Grant {
  struct Owner {
    WorkerId worker;
    Timestamp since{};
    bool operator==(const Owner&) const = default;
  };

  std::optional<Owner> owner;
  Fence fence = 0;

  bool operator==(const Grant&) const = default;
};

struct EntryRow {
  Entry entry;
  Tally total;  ///< Of the line up to and with this entry.

  bool operator==(const EntryRow&) const = default;
};

/// Its entries by position, from `segment.first` on; there are gaps where some were pruned.
struct SegmentTable {
  Segment segment;          ///< Without a session if that is removed.
  std::uint64_t owner = 0;  ///< `SessionTable::born`, also of a session that is removed.
  std::vector<EntryRow> entries;
  std::vector<rules::Shadow> shadows;  ///< By position; no two touch.

  bool operator==(const SegmentTable&) const = default;
};

struct CheckpointRow {
  Checkpoint checkpoint;
  SegmentId segment = 0;

  bool operator==(const CheckpointRow&) const = default;
};

/// Every message there ever was.
struct MessageRow {
  std::optional<std::uint64_t> arrival;  ///< Empty once it is consumed.
  std::string kind;
  Codec codec = Codec::bytes;
  Timestamp at{};

  bool operator==(const MessageRow&) const = default;
};

struct InboxTable {
  std::map<std::uint64_t, InboxMessage> pending;  ///< By arrival.
  std::map<MessageId, MessageRow> messages;

  bool operator==(const InboxTable&) const = default;
};

struct ReceiptRow {
  Receipt receipt;
  std::uint64_t number = 0;  ///< The session's commits in order.
  SegmentId segment = 0;
  Fence fence = 0;

  bool operator==(const ReceiptRow&) const = default;
};

struct SessionTable {
  SessionSummary row;  ///< Without the holder, which follows from the grant.
  rules::Moved moved;  ///< `row` shows it too.
  std::uint64_t born = 0;
  Grant grant;
  std::vector<SegmentId> segments;  ///< The last one is active.
  std::map<Version, CheckpointRow> checkpoints;
  std::map<Position, Call> calls;
  std::map<BatchId, ReceiptRow> receipts;
  Digest chain{};
  InboxTable inbox;

  bool operator==(const SessionTable&) const = default;
};

struct CallRef {
  SessionId session;
  Position position = 0;

  bool operator==(const CallRef&) const = default;
};

struct BlobRow {
  std::string bytes;
  Timestamp put_at{};  ///< For the last time.

  bool operator==(const BlobRow&) const = default;
};

/// A session that is not here yet, or was removed where it comes from.
struct ArrivingOwner {
  OwnerNumber born = 0;  ///< Its number here.
  std::optional<SessionTable> table;
  SegmentId segment = 0;  ///< The active one, as the source numbers it.

  bool operator==(const ArrivingOwner&) const = default;
};

/// What was taken in of an arrival.
struct ArrivalRow {
  rules::OpenArrival open;
  std::map<OwnerNumber, ArrivingOwner> owners;  ///< By their number in the source.
  std::map<SegmentId, SegmentId> numbers;       ///< From the source's to ours.
  std::map<SegmentId, SegmentTable> segments;   ///< By ours.
  std::map<Digest, Call> held;                  ///< Keys that its calls hold.

  bool operator==(const ArrivalRow&) const = default;
};

struct State {
  std::map<SessionId, SessionTable> sessions;
  std::map<SegmentId, SegmentTable> segments;
  std::map<WorkerId, WorkerRow> workers;
  std::map<std::string, Grant> resources;
  std::map<Digest, std::vector<CallRef>> calls_by_key;
  std::map<Digest, CallRef> key_holders;
  std::map<Digest, Call> claims;  ///< Keys that calls of removed sessions hold.
  std::map<Digest, BlobRow> blobs;
  std::map<std::string, std::uint64_t> marked;  ///< Attempts, by the target's incarnation.
  std::map<std::string, ArrivalRow> arrivals;   ///< By the source's.
  SegmentId last_segment = 0;
  std::uint64_t births = 0;
  std::uint64_t messages = 0;

  std::uint64_t changes = 0;
  StoreCounters counters;

  /// To be called once by every write that did something.
  void note_change() {
    ++changes;
    ++counters.transactions;
  }

  bool operator==(const State&) const = default;
};

}  // namespace perdure::memory
