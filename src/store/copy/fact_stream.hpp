// The facts of a move one after the other, read slice by slice.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include "perdure/core/error.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/store/log.hpp"
#include "store/api/transfer.hpp"

namespace perdure::copy {

/// The blob that a fact names, which has to be there before the fact.
[[nodiscard]] std::optional<BlobRef> blob_of(const Fact& fact);

/// A number that no other attempt has.
[[nodiscard]] std::uint64_t new_attempt();

/// The sum over what every write to these sessions changes: their rows, segments and what was pruned.
[[nodiscard]] Result<Digest> trace(Transfer& transfer, const FactSource& source);

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
