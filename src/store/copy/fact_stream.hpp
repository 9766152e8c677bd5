// The facts of a move one after the other, read slice by slice.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <utility>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/store/store.hpp"
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

}  // namespace perdure::copy
