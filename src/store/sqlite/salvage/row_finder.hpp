// Finding rows in the pages of a damaged file by the shapes of their tables.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "sqlite/engine/page_layout.hpp"
#include "sqlite/salvage/page_source.hpp"

namespace perdure::sqlite {

// What rows of each table look like, by which they are known where nothing else tells.

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

// The rows of a store file, found without SQLite.
//
// First along the trees, from their roots. If that met damage, also in every page that no
// tree led to: there a row is known by its shape, the number and kinds of its columns.
// Where a tree says which table it is, a row may have one column that does not fit: what SQLite
// still reads of it must not get lost because of a kind that one bit made another.

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
