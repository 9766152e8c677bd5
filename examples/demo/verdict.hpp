// What is on disk, read by a fresh store object, against what was acknowledged.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "perdure/core/error.hpp"
#include "trial.hpp"

namespace demo {

struct Verdict {
  std::uint64_t turns = 0;
  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;  ///< Of all bodies.
  std::uint64_t file_bytes = 0;

  std::uint64_t missing = 0;    ///< Acknowledged turns that are not there.
  std::uint64_t doubled = 0;    ///< Entries beyond those of the turns.
  std::uint64_t reordered = 0;  ///< Entries that stand where another belongs.
  std::uint64_t changed = 0;    ///< Receipts or bodies that are not what they were.

  [[nodiscard]] bool is_good() const { return missing + doubled + reordered + changed == 0; }
};

[[nodiscard]] perdure::Result<Verdict> judge(const std::string& store_path, const Record& record);

}  // namespace demo
