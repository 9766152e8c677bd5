// What the rows of a store file say, read without the store: whether SQLite finds the
// file whole, and whether every commit's chain hash follows from the rows.

#pragma once

#include <string>

namespace perdure {

/// Empty if all is well, else what is not.
[[nodiscard]] std::string find_damage(const std::string& path);

}  // namespace perdure
