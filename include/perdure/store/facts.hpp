// What a session is made of, as plain values that any two stores agree on: how
// sessions go from one store to another (transfer.hpp).
//
// Sessions and segments go by the numbers of the store that the facts are read from.
// They mean nothing elsewhere: who takes facts in gives numbers of its own, in the
// same order. Everything else is kept to the byte, and nothing that is hashed holds
// such a number.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "perdure/core/sha256.hpp"
#include "perdure/store/commit.hpp"
#include "perdure/store/inbox.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/ownership.hpp"
#include "perdure/store/sessions.hpp"

namespace perdure {

/// A session as its store numbers it, by age; one that was removed has its number still.
using OwnerNumber = std::uint64_t;

struct SessionFact {
  struct Row {
    SessionSummary summary{};  ///< Without its holder, and as if it were not moved.
    SegmentId segment = 0;     ///< The active one.
    std::uint64_t commits = 0;
    Digest chain{};
    Fence fence = 0;
    bool operator==(const Row&) const = default;
  };

  OwnerNumber owner = 0;
  std::optional<Row> row{};  ///< Empty: it was removed, and forks share its segments.

  bool operator==(const SessionFact&) const = default;
};

struct SegmentFact {
  SegmentId segment = 0;
  OwnerNumber owner = 0;
  Position first = 0;
  std::optional<SegmentId> parent{};
  Position parent_position = 0;

  bool operator==(const SegmentFact&) const = default;
};

/// Entries that were pruned, and the points that went with them: first <= p < upto.
struct PrunedFact {
  SegmentId segment = 0;
  Position first = 0;
  Position upto = 0;
  std::uint64_t entries = 0;
  Tally tally{};

  bool operator==(const PrunedFact&) const = default;
};

struct ReceiptFact {
  OwnerNumber owner = 0;
  std::uint64_t number = 0;  ///< 1, 2, 3 …: the session's commits in order.
  SegmentId segment = 0;
  Fence fence = 0;
  Receipt receipt{};

  bool operator==(const ReceiptFact&) const = default;
};

struct CheckpointFact {
  OwnerNumber owner = 0;
  SegmentId segment = 0;
  Checkpoint checkpoint{};

  bool operator==(const CheckpointFact&) const = default;
};

struct CallFact {
  OwnerNumber owner = 0;
  SegmentId segment = 0;  ///< That has the call's intent.
  Call call{};

  bool operator==(const CallFact&) const = default;
};

struct MessageFact {
  OwnerNumber owner = 0;
  bool consumed = false;  ///< Then its body is gone but for the codec.
  InboxMessage message{};

  bool operator==(const MessageFact&) const = default;
};

/// A key that a call of a removed session holds.
struct ClaimFact {
  Call call{};

  bool operator==(const ClaimFact&) const = default;
};

struct ResourceFact {
  std::string name{};
  Fence fence = 0;

  bool operator==(const ResourceFact&) const = default;
};

using Fact = std::variant<SessionFact, SegmentFact, PrunedFact, Entry, ReceiptFact, CheckpointFact,
                          CallFact, MessageFact, ClaimFact, ResourceFact>;

/// In the order in which facts are handed over; each builds on those before it.
enum class FactKind : std::uint8_t {
  session,     ///< By owner.
  segment,     ///< By number: a parent before what goes on from it.
  pruned,      ///< By segment, then by position.
  entry,       ///< By owner, then by position; likewise all that follow.
  receipt,     ///< By number.
  checkpoint,  ///< By version.
  call,
  waiting,   ///< Messages, by arrival.
  consumed,  ///< Messages, by id.
  claim,     ///< By key. These and the rest are of the store, not of a session.
  resource,  ///< By name.
  none,      ///< Behind all of them.
};

/// Where the next slice of facts begins: behind the fact that these name.
struct FactCursor {
  FactKind kind = FactKind::session;
  std::uint64_t group = 0;   ///< The owner; of `pruned`, the segment.
  std::uint64_t number = 0;  ///< Within the group; of `segment`, the segment.
  std::string name{};        ///< Where facts go by a name: an id, a key in hex.

  [[nodiscard]] bool is_end() const { return kind == FactKind::none; }
  bool operator==(const FactCursor&) const = default;
};

/// Some facts of one kind.
struct FactSlice {
  FactCursor from{};
  std::vector<Fact> facts{};
  FactCursor next{};
  std::uint64_t attempt = 0;  ///< Of an arrival that is read (transfer.hpp); 0: there is none.

  bool operator==(const FactSlice&) const = default;
};

}  // namespace perdure
