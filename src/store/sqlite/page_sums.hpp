// A sum in the last 8 bytes of every page of a store's main file, by which `check` finds
// damage anywhere in it: in a title, in free space, in the file's own header.
//
// SQLite leaves those bytes alone ("reserved bytes", told by byte 20 of the file). They are
// written with the page, whole, when it goes to the main file (summing_vfs.hpp); frames of
// the WAL have sums of SQLite's own. Files without room for them, as earlier builds made
// them, stay as they are.
//
// The sum is SQLite's own for WAL frames, begun with the page's number: two running sums of
// 32 bits, each fed from the other. One step can be undone from the other's result, so a
// change within one word, a page of zeros, and a page in another's place are always found;
// anything else but for one case in 2^64.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace perdure::sqlite {

/// Of stores that Perdure makes; pages of other sizes have no sums.
inline constexpr std::uint32_t summed_page_bytes = 8192;
inline constexpr std::uint32_t sum_bytes = 8;

using PageSum = std::array<char, sum_bytes>;

/// `page` is `summed_page_bytes` long; what stands in its last 8 bytes does not count.
/// Pages are numbered from 1.
[[nodiscard]] PageSum sum_of_page(std::string_view page, std::uint32_t number);

[[nodiscard]] bool has_right_sum(std::string_view page, std::uint32_t number);

/// How much of a file's beginning the next two need.
inline constexpr std::size_t layout_bytes = 24;

[[nodiscard]] bool is_header(std::string_view beginning);
/// Whether the pages of a file that begins so have sums.
[[nodiscard]] bool says_sums(std::string_view beginning);

}  // namespace perdure::sqlite
