// Ids that are the same in every run: 1, 2, 3 …
//
// Thread safety: next() may be called from any thread at any time. Sources that
// must not give each other's ids start with different `series`.

#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <utility>

#include "perdure/core/id.hpp"

namespace perdure {

class CountingIds final : public IdSource {
 public:
  explicit CountingIds(std::uint64_t series = 0) : series_(series) {}

  /// Called once, before the next id: what others do at that moment. Not for several threads.
  std::function<void()> meanwhile;

  [[nodiscard]] RawId next() override {
    if (const auto act = std::exchange(meanwhile, {})) act();
    const std::uint64_t count = ++count_;
    RawId raw{};
    for (unsigned i = 0; i < 8; ++i) {
      raw[i] = static_cast<std::uint8_t>(series_ >> (56 - 8 * i));
      raw[8 + i] = static_cast<std::uint8_t>(count >> (56 - 8 * i));
    }
    return raw;
  }

 private:
  const std::uint64_t series_;
  std::atomic<std::uint64_t> count_{0};
};

}  // namespace perdure
