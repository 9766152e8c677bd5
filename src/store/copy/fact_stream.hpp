// The facts of a move one after the other, read slice by slice.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include "perdure/core/error.hpp"
#include "perdure/store/facts.hpp"
#include "perdure/store/transfer.hpp"

namespace perdure::copy {

class FactStream {
 public:
  /// `transfer` must outlive this.
  FactStream(Transfer& transfer, Passage passage, FactCursor from = {})
      : transfer_(transfer), passage_(std::move(passage)) {
    slice_.next = std::move(from);
  }

  /// Valid until the next call; null at the end.
  [[nodiscard]] Result<const Fact*> next();
  /// Whether the next one has to be read from the store.
  [[nodiscard]] bool is_slice_done() const { return at_ == slice_.facts.size(); }

 private:
  Transfer& transfer_;
  const Passage passage_;
  FactSlice slice_;
  std::size_t at_ = 0;
};

}  // namespace perdure::copy
