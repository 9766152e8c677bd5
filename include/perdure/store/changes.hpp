// Waiting until something was written, by this process or another.

#pragma once

#include <cstdint>

#include "perdure/core/error.hpp"
#include "perdure/core/time.hpp"

namespace perdure {

class Changes {
 public:
  virtual ~Changes() = default;

  /// A number that rises when the store changes. It means something to this
  /// store object only.
  [[nodiscard]] virtual Result<std::uint64_t> current() = 0;

  /// Returns as soon as the number is above `since`, at the latest after
  /// `timeout`, and returns the number. What was written before it returned can
  /// be read after. Sleeps meanwhile. Running out of time is not an error.
  [[nodiscard]] virtual Result<std::uint64_t> wait(std::uint64_t since, Duration timeout) = 0;
};

}  // namespace perdure
