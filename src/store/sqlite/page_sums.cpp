// Words are little-endian on every machine: a store may be copied to another.

#include "sqlite/page_sums.hpp"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace perdure::sqlite {
namespace {

using std::string_view_literals::operator""sv;

// Its last character is a NUL.
constexpr std::string_view file_magic = "SQLite format 3\0"sv;

std::uint32_t little_endian(std::uint32_t word) {
  return std::endian::native == std::endian::little ? word : __builtin_bswap32(word);
}

std::uint32_t word_at(std::string_view bytes, std::size_t at) {
  std::uint32_t word = 0;
  std::memcpy(&word, bytes.data() + at, sizeof(word));
  return little_endian(word);
}

}  // namespace

PageSum sum_of_page(std::string_view page, std::uint32_t number) {
  std::uint32_t one = number;
  std::uint32_t two = 0;
  for (std::size_t at = 0; at < page.size() - sum_bytes; at += 8) {
    one += word_at(page, at) + two;
    two += word_at(page, at + 4) + one;
  }
  return std::bit_cast<PageSum>(std::array{little_endian(one), little_endian(two)});
}

bool has_right_sum(std::string_view page, std::uint32_t number) {
  const PageSum sum = sum_of_page(page, number);
  return page.substr(page.size() - sum_bytes) == std::string_view(sum.data(), sum.size());
}

bool is_header(std::string_view beginning) {
  return beginning.size() >= layout_bytes && beginning.starts_with(file_magic);
}

bool says_sums(std::string_view beginning) {
  constexpr std::size_t page_size_at = 16;
  constexpr std::size_t reserved_at = 20;
  return is_header(beginning) && beginning[page_size_at] == summed_page_bytes >> 8U &&
         beginning[page_size_at + 1] == 0 && beginning[reserved_at] == sum_bytes;
}

}  // namespace perdure::sqlite
