// Sessions on their way: against their hash chains, and against the source they come from.

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "copy/fact_stream.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/store/bundle.hpp"
#include "perdure/store/store.hpp"
#include "rules/chain.hpp"
#include "rules/moves.hpp"
#include "store/api/transfer.hpp"

namespace perdure::copy {

/// Is told of all facts of a move, in their order; reads the receipts itself, along with the entries.
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
  /// it was told to stop.
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
