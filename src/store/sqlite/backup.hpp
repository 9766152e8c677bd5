// Copying a store that is in use.

#pragma once

#include <string>

#include "perdure/core/error.hpp"
#include "perdure/store/upkeep.hpp"
#include "sqlite/roles.hpp"

namespace perdure::sqlite {

/// As Upkeep::backup.
[[nodiscard]] Result<void> write_backup(const Access& access, const std::string& path,
                                        const Progress& progress);

}  // namespace perdure::sqlite
