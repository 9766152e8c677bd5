// A store file's pages by SQLite's file format: the map of pages, reading them, their cells.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sqlite/engine/connection.hpp"

namespace perdure::sqlite {

// What each page is for, as the file itself says: the map that an incremental vacuum
// needs has five bytes for each page. By their own bytes, pages of rows, of overflowing
// bodies and free ones cannot be told apart.

enum class PageUse : std::uint8_t {
  unknown = 0,
  root = 1,
  free = 2,
  overflow_first = 3,  ///< The parent is the page whose row overflows.
  overflow_next = 4,   ///< The parent is the page before it.
  tree = 5,
};

struct MapEntry {
  PageUse use = PageUse::unknown;
  std::uint32_t parent = 0;

  bool operator==(const MapEntry&) const = default;
};

struct PageLayout {
  std::uint32_t page_size = 0;
  std::uint32_t usable = 0;  ///< Without what is reserved at the end of each page.
};

/// The page of the map that covers the page; itself if it is one.
[[nodiscard]] std::uint32_t map_page_of(std::uint32_t number, const PageLayout& layout);

/// What `map`, the bytes of page map_page_of(number), says of the page. The first page is
/// a root, map pages and the one that SQLite locks are `unknown`.
[[nodiscard]] MapEntry map_entry(std::string_view map, std::uint32_t number,
                                 const PageLayout& layout);

class PageReader {
 public:
  explicit PageReader(Connection& db);

  [[nodiscard]] const PageLayout& layout() const { return layout_; }

  /// Empty if there is no such page.
  [[nodiscard]] std::string read(std::uint32_t page);
  [[nodiscard]] MapEntry about(std::uint32_t page);

  /// The one kind of page without a sum in a sound file: it was free before it was ever
  /// written, and those behind it made the file grow over it. It reads as zeros, and nothing
  /// reads it.
  [[nodiscard]] bool was_never_written(std::uint32_t page);

 private:
  Connection& db_;
  PageLayout layout_;
  std::uint32_t map_number_ = 0;
  std::string map_;
};

// One page of a b-tree, taken apart; and one record, likewise.
//
// Nothing here trusts a byte: a page that is damaged gives the cells that still make
// sense. Fuzzed, as everything is that reads foreign bytes.

enum class PageKind : std::uint8_t {
  index_interior = 2,
  table_interior = 5,
  index_leaf = 10,
  table_leaf = 13,
};

struct Cell {
  std::int64_t rowid = 0;      ///< Of tables that have one.
  std::uint32_t child = 0;     ///< Of interior pages.
  std::uint64_t size = 0;      ///< Of the whole payload; 0 if there is none.
  std::string_view local{};    ///< The part of it in the page.
  std::uint32_t overflow = 0;  ///< The page where the rest begins; 0 if there is none.
};

struct PageCells {
  PageKind kind = PageKind::table_leaf;
  std::vector<Cell> cells{};
  std::uint32_t right_child = 0;
  bool is_whole = true;  ///< False if some of its cells make no sense.
};

/// `usable`: how many bytes of it hold cells; those behind are not SQLite's. `is_first`: the file's
/// header comes before the page's. Empty if it is not a tree page. The result points into `page`.
[[nodiscard]] std::optional<PageCells> parse_page(std::string_view page, std::size_t usable,
                                                  bool is_first);

struct Value {
  enum class Kind : std::uint8_t { null, integer, real, text, blob };

  Kind kind = Kind::null;
  std::int64_t integer = 0;
  double real = 0;
  std::string bytes{};

  bool operator==(const Value&) const = default;
};

struct Record {
  std::vector<Value> values{};
  bool is_whole = true;  ///< False: columns behind these make no sense.
};

/// Empty if it is none. Of a payload that is cut off, the last columns come out short.
[[nodiscard]] std::optional<Record> parse_record(std::string_view payload);

}  // namespace perdure::sqlite
