// What every store refuses beyond. Contents of bodies are never refused.

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "perdure/core/time.hpp"

namespace perdure {

/// Channels, kinds, labels, tools, tags, resource names, reasons.
inline constexpr std::size_t name_bytes_max = 128;
inline constexpr std::size_t title_bytes_max = 512;
/// An opening message, a wait reason, the why of a resolution, a provider's id for a call.
inline constexpr std::size_t text_bytes_max = 4096;
inline constexpr std::size_t metadata_bytes_max = 16384;                ///< As JSON text.
inline constexpr std::size_t body_bytes_max = std::size_t{256} << 20U;  ///< Larger ones are blobs.
inline constexpr std::size_t blob_bytes_max = std::size_t{900} << 20U;
inline constexpr std::size_t tags_max = 64;
inline constexpr std::size_t batch_entries_max = 100'000;
/// Each number of an entry's tally, either way from zero.
inline constexpr std::int64_t tally_max = 1'000'000'000'000;
inline constexpr Duration lease_time_max = std::chrono::hours(24);
/// A blob that was put less than this ago may be named by a commit under way.
inline constexpr Duration blob_grace_min = std::chrono::minutes(1);
inline constexpr std::size_t damage_max = 1000;  ///< Findings that a check lists.

}  // namespace perdure
