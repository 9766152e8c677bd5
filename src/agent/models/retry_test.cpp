// When a failed request is repeated: statuses, what the provider wants, growing waits, a total.

#include <chrono>
#include <gtest/gtest.h>
#include <optional>
#include <string>

#include "core/api/text.hpp"
#include "doubles/counting_ids.hpp"
#include "models/http.hpp"
#include "perdure/agent/provider.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/time.hpp"

namespace perdure {
namespace {

using namespace std::chrono_literals;

HttpHead head_with(const std::string& name, const std::string& value) {
  return {.status = 429, .headers = {{name, value}}};
}

TEST(Retry, IsForStatusesThatSayLater) {
  for (const int status : {408, 409, 429, 500, 502, 503, 504, 529}) {
    EXPECT_TRUE(is_worth_repeating({.status = status})) << status;
  }
  for (const int status : {301, 400, 401, 403, 404, 413, 422}) {
    EXPECT_FALSE(is_worth_repeating({.status = status})) << status;
  }
}

TEST(Retry, TheProviderKnowsBetter) {
  EXPECT_FALSE(is_worth_repeating({.status = 500, .headers = {{"x-should-retry", "false"}}}));
  EXPECT_TRUE(is_worth_repeating({.status = 400, .headers = {{"x-should-retry", "true"}}}));
  EXPECT_TRUE(is_worth_repeating({.status = 500, .headers = {{"x-should-retry", "perhaps"}}}));
}

TEST(Retry, ReadsSecondsMillisecondsAndDates) {
  const Timestamp now = *timestamp_from_iso8601("2026-11-15T08:49:00Z");
  EXPECT_EQ(wanted_wait(head_with("retry-after", "7"), now), 7s);
  EXPECT_EQ(wanted_wait(head_with("retry-after", "0.5"), now), 500ms);
  EXPECT_EQ(wanted_wait(head_with("retry-after-ms", "1250"), now), 1250ms);
  EXPECT_EQ(wanted_wait(head_with("retry-after", "Sun, 15 Nov 2026 08:49:37 GMT"), now), 37s);
  EXPECT_EQ(wanted_wait(head_with("retry-after", "Sun, 15 Nov 2026 08:00:00 GMT"), now), 0s);
}

TEST(Retry, PassesOverWhatMakesNoSense) {
  const Timestamp now = *timestamp_from_iso8601("2026-11-15T08:49:00Z");
  for (const char* const text : {"", "soon", "-3", "nan", "7 s"}) {
    EXPECT_EQ(wanted_wait(head_with("retry-after", text), now), std::nullopt) << text;
  }
  EXPECT_EQ(wanted_wait({.status = 429}, now), std::nullopt);
  EXPECT_GT(wanted_wait(head_with("retry-after", "1e300"), now), 24h);
}

TEST(Retry, WaitsDoubleUpToALimitLessAQuarterByChance) {
  const RetryOptions options{.first_wait = 100ms, .wait_max = 1s, .total = 1h};
  EXPECT_EQ(wait_before_next(options, {.number = 1}, 0), 100ms);
  EXPECT_EQ(wait_before_next(options, {.number = 3}, 0), 400ms);
  EXPECT_EQ(wait_before_next(options, {.number = 3}, 0.999), 300ms);
  EXPECT_EQ(wait_before_next(options, {.number = 9}, 0), 1s);
  EXPECT_EQ(wait_before_next(options, {.number = 2'000'000'000}, 0), 1s);
}

TEST(Retry, WhatTheProviderWantsIsWaitedExactly) {
  const RetryOptions options{.first_wait = 100ms, .wait_max = 1s, .total = 1h};
  EXPECT_EQ(wait_before_next(options, {.number = 1, .wanted = 20s}, 0.5), 20s);
  EXPECT_EQ(wait_before_next(options, {.number = 9, .wanted = 200ms}, 0.5), 200ms);
}

TEST(Retry, NobodyIsAskedAgainAtOnce) {
  const RetryOptions options{.first_wait = 100ms, .wait_max = 1s, .total = 1h};
  EXPECT_EQ(wait_before_next(options, {.number = 1, .wanted = 0s}, 0), 100ms);
  EXPECT_EQ(wait_before_next(options, {.number = 9, .wanted = 0s}, 0), 100ms);
  EXPECT_EQ(wait_before_next(options, {.number = 9, .wanted = 1ms}, 0), 100ms);
}

TEST(Retry, EndsWhereTheTotalDoes) {
  const RetryOptions options{.first_wait = 1s, .wait_max = 1s, .total = 10s};
  EXPECT_EQ(wait_before_next(options, {.number = 2, .since_first = 9s}, 0), 1s);
  EXPECT_EQ(wait_before_next(options, {.number = 2, .since_first = 9001ms}, 0), std::nullopt);
  EXPECT_EQ(wait_before_next(options, {.number = 1, .wanted = 11s}, 0), std::nullopt);
}

TEST(Retry, ChanceIsBelowOneAndOfItsSource) {
  CountingIds ids;
  CountingIds same;
  for (int i = 0; i < 10; ++i) {
    const double chance = chance_from(ids);
    EXPECT_GE(chance, 0);
    EXPECT_LT(chance, 1);
    EXPECT_EQ(chance, chance_from(same));
  }
  EXPECT_NE(chance_from(random_ids()), chance_from(random_ids()));
}

}  // namespace
}  // namespace perdure
