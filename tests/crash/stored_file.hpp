// What the rows of a store file say, read without the store: whether SQLite finds the
// file whole, whether its pages match their sums, whether every commit's chain hash follows from
// the rows, and that no opening found the WAL to lack commits.

#pragma once

#include <string>

namespace perdure {

/// Empty if all is well, else what is not.
[[nodiscard]] std::string find_damage(const std::string& path);

}  // namespace perdure
