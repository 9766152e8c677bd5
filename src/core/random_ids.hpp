// The source behind random_ids(), with its clock open to tests.

#pragma once

#include <atomic>
#include <cstdint>

#include "perdure/core/id.hpp"
#include "perdure/core/time.hpp"

namespace perdure {

class RandomIds final : public IdSource {
 public:
  /// `clock` must outlive this.
  explicit RandomIds(const Clock& clock) : clock_(clock) {}

  [[nodiscard]] RawId next() override;

 private:
  const Clock& clock_;
  std::atomic<std::uint64_t> last_{0};
};

}  // namespace perdure
