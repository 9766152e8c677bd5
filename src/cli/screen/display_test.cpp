// What numbers are called on a screen.

#include "screen/display.hpp"

#include <gtest/gtest.h>

namespace perdure::cli {
namespace {

TEST(CostWords, SayWhatIsKnownAndNeverThatTheUnknownIsNothing) {
  EXPECT_EQ(cost_words(3'300, true), "$0.0033");
  EXPECT_EQ(cost_words(0, true), "$0.0000");
  EXPECT_EQ(cost_words(3'300, false), "at least $0.0033");
  EXPECT_EQ(cost_words(0, false), "cost unknown");
}

}  // namespace
}  // namespace perdure::cli
