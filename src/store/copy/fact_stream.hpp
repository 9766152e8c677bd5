// The facts of a move one after the other, read slice by slice.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include "perdure/core/error.hpp"
#include "perdure/store/facts.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/transfer.hpp"

namespace perdure::copy {

/// The blob that a fact names, which has to be there before the fact.
[[nodiscard]] std::optional<BlobRef> blob_of(const Fact& fact);

class FactStream {
 public:
  /// The slice that begins there.
  using Read = std::function<Result<FactSlice>(const FactCursor& from)>;

  explicit FactStream(Read read, FactCursor from = {}) : read_(std::move(read)) {
    slice_.next = std::move(from);
  }
  /// `transfer` must outlive this.
  FactStream(Transfer& transfer, Passage passage, FactCursor from = {})
      : FactStream([&transfer, passage = std::move(passage)](
                       const FactCursor& place) { return transfer.read(passage, place); },
                   std::move(from)) {}

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
