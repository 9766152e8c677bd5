// One page of the map covers many others: the last one is kept.

#include "sqlite/page_reader.hpp"

#include <algorithm>
#include <cstdint>
#include <string>

#include "sqlite/connection.hpp"
#include "sqlite/page_map.hpp"

namespace perdure::sqlite {

PageReader::PageReader(Connection& db) : db_(db) {
  layout_.page_size = static_cast<std::uint32_t>(read(1).size());
  const auto reserved = static_cast<std::uint32_t>(db.reserved_bytes());
  layout_.usable = layout_.page_size - std::min(reserved, layout_.page_size);
}

std::string PageReader::read(std::uint32_t page) {
  Rows rows = db_.query("SELECT data FROM sqlite_dbpage WHERE pgno = ?", std::uint64_t{page});
  return rows.next() ? rows.string(0) : std::string();
}

MapEntry PageReader::about(std::uint32_t page) {
  if (page < 2) return map_entry({}, page, layout_);
  const std::uint32_t map = map_page_of(page, layout_);
  if (map != map_number_) map_ = read(map);
  map_number_ = map;
  return map_entry(map_, page, layout_);
}

bool PageReader::was_never_written(std::uint32_t page) {
  return about(page).use == PageUse::free &&
         std::ranges::all_of(read(page), [](char byte) { return byte == '\0'; });
}

}  // namespace perdure::sqlite
