// What rows of each table look like, by which they are known where nothing else tells.

#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "sqlite/page_cells.hpp"

namespace perdure::sqlite {

/// What rows of a table look like. Columns: `k` the rowid, `i` a number, `t` text, `h` 32
/// bytes, `b` bytes, `v` any value; a capital may also be NULL.
struct Shape {
  std::string_view name{};  ///< Of the table or index.
  std::string_view into{};  ///< The table it is written to.
  std::string_view columns{};
  bool is_table_tree = false;     ///< Kept by rowid; else an index, or a table that is like one.
  bool is_known_by_shape = true;  ///< Nothing else in the file looks like it.
  std::size_t key = 0;            ///< So many columns at its front say which row it is.
  /// So many at its front are worth having without the others; 0: none are.
  std::size_t enough = 0;

  /// Else only kept to mend others, and proves nothing by itself.
  [[nodiscard]] bool is_of_a_table() const { return !into.starts_with("temp."); }
};

[[nodiscard]] std::span<const Shape> shapes();

/// Whether all columns fit.
[[nodiscard]] bool has_shape(const Shape& shape, const Record& record);

/// Text and bytes differ in one bit of a record's header. Where the table is known, its columns
/// say which it is, as they do for SQLite's readers.
void settle_kinds(const Shape& shape, Record& record);

/// For a row of this table that does not fit: one damaged byte of its header gives a column another
/// kind, or swallows all that come after it. These become nothing. False if there is more wrong
/// with it than that: then nothing says that it is such a row.
[[nodiscard]] bool make_fit(const Shape& shape, Record& record);

}  // namespace perdure::sqlite
