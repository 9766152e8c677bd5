// Bodies of requests for a conversation that grows, as both formats write them.

#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "turns.hpp"

namespace perdure::bench {

struct BodyTimes {
  std::size_t bytes = 0;  ///< Of the last body.
  /// CPU for the body of the next request, prefix kept, over all of its size; the median of the
  /// last hundred.
  double extend_ms_per_mb = 0;
  /// CPU for the same body by an object that has written none before.
  double whole_ms_per_mb = 0;
};

/// `format`: anthropic or chat. Bodies go as far as they would be sent: to the list of their
/// pieces.
[[nodiscard]] BodyTimes build_growing_body(const std::string& format,
                                           const std::vector<PlayedTurn>& turns, std::size_t count);

}  // namespace perdure::bench
