// The rows of a store file, found without SQLite.
//
// First along the trees, from their roots. If that met damage, also in every page that no
// tree led to: there a row is known by its shape, the number and kinds of its columns.
// Where a tree says which table it is, a row may have one column that does not fit: what SQLite
// still reads of it must not get lost because of a kind that one bit made another.

#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "sqlite/page_cells.hpp"
#include "sqlite/page_source.hpp"
#include "sqlite/row_shapes.hpp"

namespace perdure::sqlite {

struct FoundRow {
  const Shape* shape = nullptr;
  std::vector<Value> values{};  ///< One for each column of the shape.
  bool is_doubtful = false;     ///< Nothing proves that it is what was written.
};

struct FoundPages {
  std::uint64_t unreadable = 0;
  bool is_whole = true;  ///< All trees led everywhere they should.
};

struct RowVisitor {
  std::function<void(FoundRow&&)> row;
  /// Called between pages; false: stop.
  std::function<bool(std::uint64_t page)> go_on;
};

FoundPages find_rows(const PageSource& source, const RowVisitor& visit);

/// The same for bytes in memory: what a fuzzer calls. Returns how many rows there are.
[[nodiscard]] std::uint64_t count_rows(std::string_view file, std::string_view log);

}  // namespace perdure::sqlite
