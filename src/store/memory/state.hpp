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
#include "perdure/store/upkeep.hpp"
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

struct InboxTable {
  std::map<std::uint64_t, InboxMessage> pending;  ///< By arrival.
  /// Every message there ever was; empty once it is consumed.
  std::map<MessageId, std::optional<std::uint64_t>> arrivals;

  bool operator==(const InboxTable&) const = default;
};

struct SessionTable {
  SessionSummary row;  ///< Without the holder, which follows from the grant.
  std::uint64_t born = 0;
  Grant grant;
  std::vector<SegmentId> segments;  ///< The last one is active.
  std::map<Version, CheckpointRow> checkpoints;
  std::map<Position, Call> calls;
  std::map<BatchId, Receipt> receipts;
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

struct State {
  std::map<SessionId, SessionTable> sessions;
  std::map<SegmentId, SegmentTable> segments;
  std::map<WorkerId, WorkerRow> workers;
  std::map<std::string, Grant> resources;
  std::map<Digest, std::vector<CallRef>> calls_by_key;
  std::map<Digest, CallRef> key_holders;
  std::map<Digest, Call> claims;  ///< Keys that calls of removed sessions hold.
  std::map<Digest, BlobRow> blobs;
  SegmentId last_segment = 0;
  std::uint64_t births = 0;
  std::uint64_t arrivals = 0;

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
