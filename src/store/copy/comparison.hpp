// What a target took in, against the source it came from.

#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "copy/chain_check.hpp"
#include "copy/fact_stream.hpp"
#include "perdure/core/error.hpp"
#include "perdure/store/bundle.hpp"
#include "perdure/store/store.hpp"
#include "store/api/transfer.hpp"

namespace perdure::copy {

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
  class Translation;

  Result<void> compare(Fact of_source);
  Result<void> compare_claim(const ClaimFact& claim);
  Result<void> compare_active();
  Result<void> note(const Fact& of_target);

  Store& to_;
  FactStream source_;
  FactStream target_;
  ChainCheck chains_;
  std::map<OwnerNumber, OwnerNumber> owners_;
  std::map<SegmentId, SegmentId> segments_;
  /// Active segments of sessions, which come before the segments themselves.
  std::vector<std::pair<SegmentId, SegmentId>> active_;
  MoveReport report_;
};

}  // namespace perdure::copy
