// The facts of a move one after the other, read slice by slice.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/store/store.hpp"
#include "perdure/store/upkeep.hpp"
#include "rules/chain.hpp"
#include "rules/moves.hpp"
#include "store/api/transfer.hpp"

namespace perdure::copy {

/// A number that no other attempt has.
[[nodiscard]] std::uint64_t new_attempt();

/// Facts of sessions that others may write to meanwhile.
class SourceFacts {
 public:
  /// Sums over what writes change. The same: nothing of it changed in between.
  struct Trace {
    Digest sessions{};  ///< Rows, segments, what was pruned, checkpoints: every write changes one.
    Digest claims{};    ///< Of the whole store: others may change them all the time.
  };

  /// `transfer` must outlive this. `source` names owners.
  SourceFacts(Transfer& transfer, FactSource source)
      : transfer_(transfer), source_(std::move(source)) {}

  /// Fails: as `Transfer::read`; `conflict` where a session was removed and its rows are not gone yet:
  /// `is_torn` from then on.
  [[nodiscard]] Result<FactSlice> read(const FactCursor& from);
  [[nodiscard]] Result<Trace> trace() const;
  /// Whether what was read since `before` is not of one moment. `failed`: it was found wrong, and
  /// what has changed since may be why.
  [[nodiscard]] Result<bool> has_changed(const Trace& before, bool failed) const;
  [[nodiscard]] const FactSource& source() const { return source_; }

 private:
  Result<Digest> sum_of(FactKind first, FactKind last) const;

  Transfer& transfer_;
  const FactSource source_;
  std::set<OwnerNumber> with_row_;
  bool is_torn_ = false;
};

/// These, and the relatives that the store says are missing, until none is. What else keeps them from
/// moving is for the caller to find out.
[[nodiscard]] std::vector<SessionId> with_relatives(Store& store, std::vector<SessionId> sessions);

class FactStream {
 public:
  /// The slice that begins there.
  using Read = std::function<Result<FactSlice>(const FactCursor& from)>;

  explicit FactStream(Read read, FactCursor from = {}) : read_(std::move(read)) {
    slice_.next = std::move(from);
  }
  /// `transfer` must outlive this. Of an arrival only that attempt is read.
  /// Fails: `lease_lost` if another attempt has taken its place.
  FactStream(Transfer& transfer, FactSource source, FactCursor from = {});

  /// Valid until the next call; null at the end.
  [[nodiscard]] Result<const Fact*> next();
  /// Whether the next one has to be read from the store.
  [[nodiscard]] bool is_slice_done() const { return at_ == slice_.facts.size(); }

 private:
  Read read_;
  FactSlice slice_;
  std::size_t at_ = 0;
};

// Sessions on their way: against their hash chains, and against the source they come from.

/// Receives all facts of a move, in order; reads the receipts itself, along with the entries.
class ChainCheck {
 public:
  explicit ChainCheck(FactStream receipts) : receipts_(std::move(receipts)) {}

  [[nodiscard]] Result<void> add(const Fact& fact);
  /// After the last entry.
  [[nodiscard]] Result<void> finish();

  /// Sessions whose chain does not hold, or one of whose bodies does not match its hash.
  [[nodiscard]] const std::set<SessionId>& damaged() const { return damaged_; }

 private:
  struct Session {
    SessionId id{};
    Digest chain{};
    std::uint64_t commits = 0;
  };
  struct Place {
    OwnerNumber owner = 0;
    Position from = 0;
  };

  void add_session(const SessionFact& fact);
  void add_segment(const SegmentFact& fact);
  Result<void> add_entry(const Entry& entry);
  Result<void> read_receipt();
  void begin();
  void close();
  void end_session();
  [[nodiscard]] bool is_behind(OwnerNumber owner, Position position) const;

  FactStream receipts_;
  std::map<OwnerNumber, Session> sessions_;
  std::map<SegmentId, Place> segments_;
  std::set<SessionId> damaged_;

  bool is_started_ = false;
  std::optional<ReceiptFact> receipt_;  ///< The one whose entries come now.
  std::optional<rules::StoredSeal> seal_;
  std::uint64_t seen_ = 0;  ///< Entries of it.

  OwnerNumber owner_ = 0;
  SegmentId segment_ = 0;
  Position position_ = 0;
  Digest chain_{};
  std::uint64_t number_ = 0;
};

// What a target took in, against the source it came from.

class Comparison {
 public:
  /// `to` must outlive this.
  Comparison(FactStream source, Store& to, const Arrival& arrival);

  /// Compares fact by fact; asks `go_on` before each slice, with the facts seen so far. False if
  /// it was asked to stop.
  /// Fails: `corrupted` where they differ.
  [[nodiscard]] Result<bool> run(const std::function<bool(std::uint64_t)>& go_on);

  /// What there is, and how much of it was damaged before.
  [[nodiscard]] const MoveReport& report() const { return report_; }
  [[nodiscard]] const std::set<SessionId>& damaged() const { return chains_.damaged(); }

 private:
  Result<void> compare(Fact of_source);
  Result<void> compare_claim(const ClaimFact& claim);
  Result<void> compare_active();
  Result<void> note(const Fact& of_target);

  Store& to_;
  FactStream source_;
  FactStream target_;
  ChainCheck chains_;
  rules::Numbers numbers_;
  /// Active segments of sessions, which come before the segments themselves.
  std::vector<std::pair<SegmentId, SegmentId>> active_;
  MoveReport report_;
};

}  // namespace perdure::copy
