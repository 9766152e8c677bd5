// Pages made by hand: what is unused is overwritten, and nothing else.

#include <gtest/gtest.h>
#include <string>

#include "sqlite/retention/garbage.hpp"

namespace perdure::sqlite {
namespace {

void put(std::string& page, std::size_t at, std::size_t number) {
  page[at] = static_cast<char>(number >> 8U);
  page[at + 1] = static_cast<char>(number & 0xFFU);
}

/// A leaf of a table with two cells from byte 300 on, and a free block of 20 bytes
/// between them; all of it, used or not, is x.
std::string leaf(std::size_t header = 0) {
  std::string page(1024, 'x');
  page[header] = 13;
  put(page, header + 1, 400);
  put(page, header + 3, 2);
  put(page, header + 5, 300);
  page[header + 7] = 0;
  put(page, 400, 0);
  put(page, 402, 20);
  return page;
}

TEST(Scrubbed, APageHasZerosInItsGapAndItsFreeBlocks) {
  std::string expected = leaf();
  expected.replace(12, 300 - 12, 300 - 12, '\0');
  expected.replace(404, 16, 16, '\0');

  EXPECT_EQ(scrubbed(leaf(), 7), expected);
  EXPECT_EQ(scrubbed(expected, 7), std::nullopt);
}

TEST(Scrubbed, TheFirstPageKeepsTheHeaderOfTheFile) {
  const auto clean = scrubbed(leaf(100), 1);

  ASSERT_TRUE(clean);
  EXPECT_EQ(clean->substr(0, 112), leaf(100).substr(0, 112));
  EXPECT_EQ((*clean)[112], '\0');
}

TEST(Scrubbed, APageThatMakesNoSenseIsLeftAlone) {
  std::string other = leaf();
  other[0] = 0;
  EXPECT_EQ(scrubbed(other, 7), std::nullopt);

  std::string many_cells = leaf();
  put(many_cells, 3, 200);
  EXPECT_EQ(scrubbed(many_cells, 7), std::nullopt);

  std::string block_beyond = leaf();
  put(block_beyond, 402, 900);
  EXPECT_EQ(scrubbed(block_beyond, 7), std::nullopt);

  std::string endless = leaf();
  put(endless, 400, 400);
  EXPECT_EQ(scrubbed(endless, 7), std::nullopt);
  EXPECT_EQ(scrubbed("", 7), std::nullopt);
}

}  // namespace
}  // namespace perdure::sqlite
