// Which versions a retention rule would keep, told beforehand.

#pragma once

#include <cstdint>
#include <vector>

#include "perdure/store/log.hpp"
#include "perdure/store/retention.hpp"

namespace perdure {

/// How many of a session's versions Retention::prune would remove now. `versions`: all of them, the
/// newest first, as Log::checkpoints lists them.
[[nodiscard]] std::uint64_t count_prunable(const std::vector<Checkpoint>& versions,
                                           const Keep& keep);

}  // namespace perdure
