// What every store refuses beyond, and callers seldom meet. The limits that they do meet are in
// perdure/store/log.hpp.

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "perdure/core/time.hpp"

namespace perdure {

inline constexpr std::size_t tags_max = 64;
inline constexpr std::size_t batch_entries_max = 100'000;
/// Each number of an entry's tally, either way from zero.
inline constexpr std::int64_t tally_max = 1'000'000'000'000;
inline constexpr Duration lease_time_max = std::chrono::hours(24);
/// A blob that was put less than this ago may be named by a commit under way.
inline constexpr Duration blob_grace_min = std::chrono::minutes(1);
inline constexpr std::size_t damage_max = 1000;  ///< Findings that a check lists.

}  // namespace perdure
