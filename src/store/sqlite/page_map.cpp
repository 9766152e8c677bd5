// The arithmetic is in SQLite's file format, which does not change.

#include "sqlite/page_map.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "sqlite/page_source.hpp"

namespace perdure::sqlite {
namespace {

constexpr std::uint32_t entry_bytes = 5;
constexpr std::uint32_t locked_byte = 0x4000'0000;

std::uint32_t locked_page(const PageLayout& layout) { return locked_byte / layout.page_size + 1; }

}  // namespace

std::uint32_t map_page_of(std::uint32_t number, const PageLayout& layout) {
  const std::uint32_t pages_a_map = layout.usable / entry_bytes + 1;
  const std::uint32_t map = (number - 2) / pages_a_map * pages_a_map + 2;
  return map == locked_page(layout) ? map + 1 : map;
}

MapEntry map_entry(std::string_view map, std::uint32_t number, const PageLayout& layout) {
  if (number <= 1) return {.use = number == 1 ? PageUse::root : PageUse::unknown, .parent = 0};
  const std::uint32_t map_number = map_page_of(number, layout);
  if (number <= map_number || number == locked_page(layout)) return {};
  const std::size_t at = std::size_t{entry_bytes} * (number - map_number - 1);
  if (at + entry_bytes > map.size()) return {};
  const auto use = static_cast<unsigned char>(map[at]);
  if (use < 1 || use > 5) return {};
  return {.use = static_cast<PageUse>(use), .parent = big_endian_32(map, at + 1)};
}

}  // namespace perdure::sqlite
