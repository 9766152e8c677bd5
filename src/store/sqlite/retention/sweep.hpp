// Dropping the entries that no kept point can see, one slice of one segment at a time.

#pragma once

#include <cstdint>

#include "perdure/store/log.hpp"
#include "sqlite/engine/connection.hpp"

namespace perdure::sqlite {

/// Where a sweep is, and what it did so far.
struct Sweep {
  SegmentId segment = 0;
  Position from = 0;  ///< What is before it was looked at.
  Position to = 0;    ///< Inclusive.
  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;
};

/// Does the next slice; says whether there is more. Everything is looked up anew: since
/// the slice before, somebody may have forked, or settled a call.
[[nodiscard]] bool sweep_slice(Connection& db, Sweep& sweep);

}  // namespace perdure::sqlite
