// The store's long work, as many short statements, so that others can write in between.

#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/store/upkeep.hpp"
#include "postgres/operations/roles.hpp"
#include "rules/followed.hpp"

namespace perdure::postgres {

/// What one slice may touch. Together they stay well below 50 ms; a single body or
/// blob that is larger goes in a slice of its own.
inline constexpr std::int64_t slice_rows = 256;
inline constexpr std::int64_t slice_bytes = std::int64_t{4} << 20U;

/// Each slice is one statement. One whose reply was lost is done again, and finds nothing: what it
/// freed is then not counted.
using rules::Slices;

/// Sessions that are removed and not cleared, by number.
[[nodiscard]] Result<std::vector<std::int64_t>> list_garbage(const Access& access);

/// Clears these, and the removed sessions that existed only for their sake. What forks
/// still need stays, trimmed to what they can see.
[[nodiscard]] Result<Freed> clear_garbage(const Access& access, Slices& slices,
                                          std::vector<std::int64_t> sessions);

[[nodiscard]] Result<CheckReport> check_store(const Access& access, const Progress& progress);

}  // namespace perdure::postgres
