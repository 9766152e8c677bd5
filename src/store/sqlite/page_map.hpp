// What each page is for, as the file itself says: the map that an incremental vacuum
// needs has five bytes for each page. By their own bytes, pages of rows, of overflowing
// bodies and free ones cannot be told apart.

#pragma once

#include <cstdint>
#include <string_view>

namespace perdure::sqlite {

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

}  // namespace perdure::sqlite
