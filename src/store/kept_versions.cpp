// By the same rule as pruning itself.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "perdure/store/log.hpp"
#include "perdure/store/upkeep.hpp"
#include "rules/retention.hpp"

namespace perdure {
namespace {

Version newest_from(const std::vector<Checkpoint>& versions, std::uint64_t last) {
  if (last == 0) return std::numeric_limits<Version>::max();
  return last > versions.size() ? 0 : versions[last - 1].version;
}

}  // namespace

std::uint64_t count_prunable(const std::vector<Checkpoint>& versions, const Keep& keep) {
  const Version newest = newest_from(versions, keep.last);
  return static_cast<std::uint64_t>(std::ranges::count_if(
      versions, [&](const Checkpoint& version) { return !rules::keeps(keep, newest, version); }));
}

}  // namespace perdure
