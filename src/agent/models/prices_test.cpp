// What tokens cost: exact sums, a user's table, and models that have no price.

#include <cstdint>
#include <gtest/gtest.h>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "perdure/agent/provider.hpp"
#include "perdure/core/error.hpp"

namespace perdure {
namespace {

constexpr Price sonnet{3'000'000, 15'000'000, 300'000, 3'750'000};

TEST(Prices, EachKindOfTokenHasItsOwn) {
  EXPECT_EQ(cost_of(sonnet,
                    {.tokens_in = 1000, .tokens_out = 100, .cache_read = 600, .cache_write = 300}),
            100 * 3 + 180 + 1125 + 1500);
  EXPECT_EQ(cost_of(sonnet, {}), 0);
}

TEST(Prices, AFractionOfAMicroCountsAsOne) {
  EXPECT_EQ(cost_of({.input = 1}, {.tokens_in = 1}), 1);
  EXPECT_EQ(cost_of({.input = 500'000}, {.tokens_in = 3}), 2);
  EXPECT_EQ(cost_of({.input = 500'000}, {.tokens_in = 4}), 2);
}

TEST(Prices, NumbersThatMakeNoSenseNeitherWrapNorPayBack) {
  constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(cost_of(sonnet, {.tokens_in = largest, .tokens_out = largest}), largest);
  EXPECT_EQ(cost_of(sonnet, {.tokens_in = 5, .cache_read = 10}), 3);
  EXPECT_EQ(reservation_for(sonnet, {.tokens_in = largest, .tokens_out = 1}), largest);
}

TEST(Prices, AReservationIsTheMostARequestMayCost) {
  const PreparedRequest request{.tokens_in = 1000, .tokens_out = 100};
  EXPECT_EQ(reservation_for(sonnet, request), 3750 + 1500);
  EXPECT_GE(reservation_for(sonnet, request),
            cost_of(sonnet, {.tokens_in = 1000, .tokens_out = 100, .cache_write = 1000}));
}

TEST(Prices, ADatedModelHasThePriceOfItsName) {
  const Prices prices = Prices::built_in();
  const auto plain = prices.find("claude-sonnet-4-5");
  ASSERT_TRUE(plain);
  EXPECT_EQ(*plain, sonnet);
  EXPECT_EQ(prices.find("claude-sonnet-4-5-20250929"), plain);
  EXPECT_EQ(prices.find("claude-sonnet-4-5-latest"), plain);
  EXPECT_EQ(prices.find("gpt-4o-2024-08-06"), prices.find("gpt-4o"));
}

TEST(Prices, AModelThatNobodyPricedHasNone) {
  const Prices prices = Prices::built_in();
  for (const std::string_view model : {"", "my-model", "claude-sonnet-4-5-turbo", "gpt-4o-audio",
                                       "gpt-4o-2024-08", "-20250929", "claude"}) {
    EXPECT_EQ(prices.find(model), std::nullopt) << model;
  }
}

TEST(Prices, AUsersPriceGoesOverTheBuiltIn) {
  Prices prices = Prices::built_in();
  prices.set("gpt-4o", {.input = 100'000, .output = 2'000'000});
  EXPECT_EQ(prices.find("gpt-4o"), (Price{100'000, 2'000'000, 0, 0}));
  EXPECT_TRUE(prices.find("gpt-5"));
}

}  // namespace
}  // namespace perdure
