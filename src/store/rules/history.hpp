// Places and stretches of histories, as every backend that keeps rows means them.

#pragma once

#include <cstdint>
#include <optional>

#include "perdure/store/log.hpp"

namespace perdure::rules {

inline constexpr Position position_max = 0xFFFF'FFFF;

/// The end of a line: everything up to `position` as seen from `segment`.
struct Place {
  SegmentId segment = 0;
  Position position = 0;
};

/// The part of a line that lies in one segment.
struct Part {
  SegmentId segment = 0;
  std::int64_t session = 0;  ///< The number of the session that owns the segment, or owned it.
  Position first = 0;
  Position last = 0;  ///< Nothing of the segment beyond it is on the line.
  std::optional<SegmentId> parent;
  Position parent_position = 0;
};

/// A stretch of one segment's positions, both ends included.
struct Stretch {
  SegmentId segment = 0;
  Position first = 0;
  Position last = 0;
};

}  // namespace perdure::rules
