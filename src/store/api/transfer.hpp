// How the facts of sessions leave one store and enter another, for moves, copies and bundles.
//
// Facts are read where they are, without blocking anyone. What is taken in is an arrival: it
// has ids and keys, but it is not listed, not granted and not run until it is released. A move
// is decided in the source, by `mark_moved`, in one transaction: it succeeds only if no session
// has changed since its facts were read. src/store/copy/copy.cpp shows why no death and no
// second mover can break that.
//
// Sessions and segments go by the numbers of the store that the facts are read from.
// They mean nothing elsewhere: who takes facts in gives numbers of its own, in the
// same order. Everything else is kept to the byte, and nothing that is hashed holds
// such a number.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "store/api/lookup.hpp"
#include "store/api/seam.hpp"

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
  segment,     ///< By number: a parent before what continues it.
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

/// Sessions that are being taken in. A store has at most one arrival from each place.
struct Arrival {
  std::string from{};         ///< The incarnation of the source; "bundle" for all bundles.
  std::uint64_t attempt = 0;  ///< Chosen at random by the caller; 0: whichever there is.

  bool operator==(const Arrival&) const = default;
};

/// Some facts of one kind.
struct FactSlice {
  FactCursor from{};
  std::vector<Fact> facts{};
  FactCursor next{};
  std::uint64_t attempt = 0;          ///< Of an arrival that is read; 0: there is none.
  std::vector<Arrival> arrivals{};    ///< If one is read: all that were not released.
  std::vector<OwnerNumber> owners{};  ///< Whose facts are read, in ascending order.

  bool operator==(const FactSlice&) const = default;
};

/// Whose facts to read: those of an arrival if one is named, else those of these owners. If there are
/// none, those of sessions by their ids, or of all that are here.
struct FactSource {
  std::vector<OwnerNumber> owners{};  ///< In ascending order.
  Arrival arrival{};
  std::vector<SessionId> sessions{};

  [[nodiscard]] bool names_sessions() const { return owners.empty() && arrival.from.empty(); }

  bool operator==(const FactSource&) const = default;
};

/// Where sessions move to.
struct Destination {
  std::string incarnation{};  ///< Of the target.
  std::string place{};  ///< What people find it by; 1 to 4096 bytes without control characters.

  bool operator==(const Destination&) const = default;
};

/// A session as it was when its facts were read.
struct SessionVersion {
  SessionId session{};
  std::uint64_t revision = 0;

  bool operator==(const SessionVersion&) const = default;
};

class Transfer {
 public:
  virtual ~Transfer() = default;

  /// The next facts, a few megabytes at most unless one alone is larger, as they are at the moment.
  /// Facts of an arrival have the numbers that they have here; facts that belong to the store
  /// itself are not among them. Nothing if there is no such arrival.
  /// Owners of sessions that are named by their ids are these sessions, and removed ones whose
  /// segments they share. That fails: `not_found`; `lease_held` while a live worker owns one of them;
  /// `conflict` for one that was moved, and for one that is related by forks, children or a shared
  /// log to one that is not named (the subject is the one left out).
  [[nodiscard]] virtual Result<FactSlice> read(const FactSource& source,
                                               const FactCursor& from) = 0;

  /// Takes in the next slice of an arrival; the first one begins it. Blobs must have been put.
  /// Taking in the slice that was taken last is not an error, and does nothing. Survives the
  /// machine from the next sync on. The slice that begins at the end makes sessions of the arrival,
  /// behind higher fences, and is synced.
  /// Fails: `lease_lost` if the arrival was discarded; `already_exists` for a session whose id is
  /// in use here; `conflict` for a key that a call here holds (the subject names it), for facts
  /// that are not the next ones, and if there is another arrival from that place;
  /// `invalid_argument` for a blob that was not put.
  [[nodiscard]] virtual Result<void> take(const Arrival& arrival, const FactSlice& slice) = 0;

  /// Deletes an arrival. Not an error if there is none.
  [[nodiscard]] virtual Result<void> discard(const Arrival& arrival) = 0;

  /// Marks sessions as moved, all of them or none: from then on they can be read and removed here,
  /// and nothing else. An attempt that was marked stays marked: repeating it is not an error,
  /// whatever sessions are named. Without sessions it only says whether the attempt was marked.
  /// Fails: as `read` of sessions; `conflict` if a session has changed since (the subject names it), and
  /// for an attempt without sessions that was not marked; `invalid_argument` for a bad place.
  [[nodiscard]] virtual Result<void> mark_moved(const Destination& to, std::uint64_t attempt,
                                                const std::vector<SessionVersion>& sessions) = 0;
};

/// The owners of these sessions, or of all that are here if none are named.
/// Fails: as `Transfer::read`.
[[nodiscard]] inline Result<std::vector<OwnerNumber>> find_owners(
    Transfer& transfer, const std::vector<SessionId>& sessions) {
  auto slice = transfer.read({.owners = {}, .arrival = {}, .sessions = sessions}, {});
  if (!slice) return forward(slice);
  return std::move(slice->owners);
}

/// Takes the last slice of an arrival.
/// Fails: `lease_lost` if there is no such arrival; `conflict` if not all facts were taken in.
[[nodiscard]] inline Result<void> release(Transfer& transfer, const Arrival& arrival) {
  const FactCursor end{.kind = FactKind::none, .group = 0, .number = 0, .name = {}};
  return transfer.take(arrival, {.from = end, .facts = {}, .next = end});
}

}  // namespace perdure
