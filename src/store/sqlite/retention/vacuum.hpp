// Giving free pages back to the file system.

#pragma once

#include "perdure/core/error.hpp"
#include "perdure/store/upkeep.hpp"
#include "sqlite/engine/slices.hpp"

namespace perdure::sqlite {

/// The file itself shrinks when the WAL is written back.
[[nodiscard]] Result<Freed> shrink_file(Slices& slices);

}  // namespace perdure::sqlite
