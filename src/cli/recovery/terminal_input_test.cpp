// What typing and arrows choose.

#include "recovery/terminal_input.hpp"

#include <cstddef>
#include <gtest/gtest.h>
#include <optional>
#include <vector>

namespace perdure::cli {
namespace {

PickList letters() {
  return PickList(
      {{.words = "Refund order 4711"}, {.words = "Weekly report"}, {.words = "refund 2"}});
}

TEST(PickListTest, TheFirstIsChosenAtFirst) {
  EXPECT_EQ(letters().chosen(), 0U);
  EXPECT_EQ(PickList({}).chosen(), std::nullopt);
}

TEST(PickListTest, ArrowsStayWithinTheList) {
  PickList list = letters();
  list.move(-1);
  EXPECT_EQ(list.chosen(), 0U);
  for (int i = 0; i < 5; ++i) list.move(1);
  EXPECT_EQ(list.chosen(), 2U);
  list.move(-1);
  EXPECT_EQ(list.chosen(), 1U);
}

TEST(PickListTest, TypingLeavesThoseThatFitWhateverTheCase) {
  PickList list = letters();
  for (const char letter : {'R', 'E', 'F'}) list.type(letter);
  EXPECT_EQ(list.shown(), (std::vector<std::size_t>{0, 2}));
  list.move(1);
  EXPECT_EQ(list.chosen(), 2U);
  list.type('q');
  EXPECT_EQ(list.chosen(), std::nullopt);
  list.erase();
  EXPECT_EQ(list.chosen(), 0U) << "the cursor is back at the first";
  EXPECT_EQ(list.typed(), "REF");
}

TEST(PickListTest, ALetterIsErasedWhole) {
  PickList list = letters();
  for (const char byte : std::string("re\u20ac\u00e9")) list.type(byte);
  list.erase();
  EXPECT_EQ(list.typed(), "re\u20ac");
  list.erase();
  EXPECT_EQ(list.typed(), "re");
  EXPECT_EQ(list.chosen(), 0U);
}

}  // namespace
}  // namespace perdure::cli
