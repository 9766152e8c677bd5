// What a sum finds, and which files have them.

#include <algorithm>
#include <gtest/gtest.h>
#include <string>

#include "sqlite/engine/summing_vfs.hpp"

namespace perdure::sqlite {
namespace {

constexpr std::uint32_t page_number = 7;

void put_sum(std::string& page, std::uint32_t of) {
  std::ranges::copy(sum_of_page(page, of), page.end() - sum_bytes);
}

/// A page with its sum as page 7.
std::string summed() {
  std::string page(summed_page_bytes, '\0');
  for (std::size_t i = 0; i < page.size(); ++i) page[i] = static_cast<char>(i * i / 7);
  put_sum(page, page_number);
  return page;
}

std::string header(std::size_t page_bytes, char reserved) {
  std::string bytes("SQLite format 3");
  bytes.resize(layout_bytes, '\0');
  bytes[16] = static_cast<char>(page_bytes >> 8U);
  bytes[17] = static_cast<char>(page_bytes & 0xFFU);
  bytes[20] = reserved;
  return bytes;
}

TEST(PageSums, OfAPageAsItWasWrittenIsRight) {
  EXPECT_TRUE(has_right_sum(summed(), page_number));
  EXPECT_TRUE(has_right_sum(summed(), page_number)) << "also when asked again";
}

TEST(PageSums, FindEveryFlippedBit) {
  for (std::size_t at = 0; at < summed_page_bytes; ++at) {
    std::string page = summed();
    page[at] = static_cast<char>(page[at] ^ (1 << at % 8));
    ASSERT_FALSE(has_right_sum(page, page_number)) << "byte " << at;
  }
}

TEST(PageSums, FindAPageOfZeros) {
  const std::string zeros(summed_page_bytes, '\0');
  for (const std::uint32_t of : {1U, 2U, 7U, 0x8000'0000U, 0xFFFF'FFFEU}) {
    EXPECT_FALSE(has_right_sum(zeros, of)) << of;
  }
}

TEST(PageSums, FindAPageInThePlaceOfAnother) {
  for (const std::uint32_t of : {1U, 6U, 8U, 0x8000'0007U}) {
    EXPECT_FALSE(has_right_sum(summed(), of)) << of;
  }
}

TEST(PageSums, FindWordsThatChangedPlaces) {
  std::string page = summed();
  std::swap_ranges(page.begin() + 800, page.begin() + 804, page.begin() + 1600);
  EXPECT_FALSE(has_right_sum(page, page_number));
}

TEST(PageSums, DoNotDependOnWhatStoodInTheirPlace) {
  std::string page = summed();
  const PageSum sum = sum_of_page(page, page_number);
  page.replace(page.size() - sum_bytes, sum_bytes, "whatever");
  EXPECT_EQ(sum_of_page(page, page_number), sum);
}

TEST(PageSums, AreTheSameOnEveryMachine) {
  std::string page(summed_page_bytes, '\0');
  page[0] = 1;  // Of a word of four bytes, the lowest.
  const PageSum one = sum_of_page(page, 0);
  page[0] = 0;
  EXPECT_EQ(sum_of_page(page, 1), one);
}

TEST(PageSums, AreInFilesThatReserveRoomForThem) {
  EXPECT_TRUE(says_sums(header(8192, 8)));
  EXPECT_FALSE(says_sums(header(8192, 0)));
  EXPECT_FALSE(says_sums(header(8192, 32)));
  EXPECT_FALSE(says_sums(header(4096, 8)));
  EXPECT_FALSE(says_sums(std::string(layout_bytes, '\0')));
  EXPECT_FALSE(says_sums(""));
}

}  // namespace
}  // namespace perdure::sqlite
