// What the rows of a store file say, read without the store: whether SQLite finds the
// file whole, whether its pages match their sums, whether every commit's chain hash follows from
// the rows, and that no opening found the WAL to lack commits. A store without a file is asked by its
// own check.

#pragma once

#include <optional>
#include <string>

namespace perdure {

/// The path of a store in a file, which may be all that its location is.
[[nodiscard]] std::optional<std::string> file_of(const std::string& location);

/// Empty if all is well, else what is not.
[[nodiscard]] std::string find_damage(const std::string& location);

}  // namespace perdure
