// What a store refuses, whichever backend: ids, names and limits. Contents of
// bodies are never refused. Ids are limited by core (id.hpp).

#pragma once

#include <cstddef>
#include <cstdint>

#include "perdure/core/time.hpp"

namespace perdure {

/// Channels, kinds, labels, tools, tags, resource names, reasons.
inline constexpr std::size_t name_bytes_max = 128;
inline constexpr std::size_t title_bytes_max = 512;
/// The opening message as lists show it, a wait reason, the why of a resolution; any
/// bytes of a provider's id for a call.
inline constexpr std::size_t text_bytes_max = 4096;
/// Metadata of a session or a checkpoint, as JSON text.
inline constexpr std::size_t metadata_bytes_max = 16384;
inline constexpr std::size_t tags_max = 64;
/// One body inside an entry. Larger ones are blobs.
inline constexpr std::size_t body_bytes_max = std::size_t{256} << 20U;
inline constexpr std::size_t blob_bytes_max = std::size_t{900} << 20U;
inline constexpr std::size_t batch_entries_max = 100'000;
/// Either way from zero, each number of an entry's tally: nine million such entries
/// fit into a total.
inline constexpr std::int64_t tally_max = 1'000'000'000'000;
inline constexpr Duration lease_time_max = std::chrono::hours(24);
/// A blob that was put less than this ago may be named by a commit under way.
inline constexpr Duration blob_grace_min = std::chrono::minutes(1);
/// How many findings a check lists.
inline constexpr std::size_t damage_max = 1000;
/// The largest `limit` a query may ask for; 0 is refused too.
inline constexpr std::size_t limit_max = 1'000'000;

}  // namespace perdure
