// A slice without facts is not the end: only its cursor says so.

#include "copy/fact_stream.hpp"

#include <utility>

#include "perdure/core/error.hpp"
#include "perdure/store/facts.hpp"

namespace perdure::copy {

Result<const Fact*> FactStream::next() {
  while (is_slice_done()) {
    if (slice_.next.is_end()) return nullptr;
    auto read = transfer_.read(passage_, slice_.next);
    if (!read) return forward(read);
    slice_ = *std::move(read);
    at_ = 0;
  }
  return &slice_.facts[at_++];
}

}  // namespace perdure::copy
