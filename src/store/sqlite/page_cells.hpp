// One page of a b-tree, taken apart; and one record, likewise.
//
// Nothing here trusts a byte: a page that is damaged gives the cells that still make
// sense. Fuzzed, as everything is that reads foreign bytes.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace perdure::sqlite {

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
/// header comes before the page's. Empty if it is no page of a tree. The result points into `page`.
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
