// Pages of a file, as one transaction sees them, and what the file's map says of them.

#pragma once

#include <cstdint>
#include <string>

#include "sqlite/connection.hpp"
#include "sqlite/page_map.hpp"

namespace perdure::sqlite {

class PageReader {
 public:
  explicit PageReader(Connection& db);

  [[nodiscard]] const PageLayout& layout() const { return layout_; }

  /// Empty if there is no such page.
  [[nodiscard]] std::string read(std::uint32_t page);
  [[nodiscard]] MapEntry about(std::uint32_t page);

  /// The one kind of page without a sum in a sound file: it was free before it was ever
  /// written, and those behind it made the file grow over it. It reads as zeros, and nobody
  /// reads it.
  [[nodiscard]] bool was_never_written(std::uint32_t page);

 private:
  Connection& db_;
  PageLayout layout_;
  std::uint32_t map_number_ = 0;
  std::string map_;
};

}  // namespace perdure::sqlite
