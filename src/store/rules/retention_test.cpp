// What is forgotten, as tables.

#include "rules/retention.hpp"

#include <gtest/gtest.h>
#include <utility>

#include "perdure/store/log.hpp"
#include "store/api/limits.hpp"

namespace perdure::rules {
namespace {

Checkpoint version(Version number, std::string label = {}) {
  return {.version = number,
          .position = 1,
          .at = Timestamp(Duration(number)),
          .label = std::move(label)};
}

TEST(Keeps, WhatAnyRuleNames) {
  const Keep keep{.last = 1, .since = Timestamp(Duration(40)), .every = 10, .labelled = true};
  EXPECT_TRUE(keeps(keep, 50, version(50)));
  EXPECT_TRUE(keeps(keep, 50, version(40)));
  EXPECT_TRUE(keeps(keep, 50, version(20)));
  EXPECT_TRUE(keeps(keep, 50, version(3, "a")));
  EXPECT_FALSE(keeps(keep, 50, version(39)));
}

TEST(Keeps, NothingWithoutRules) {
  const Keep nothing{.last = 0, .since = {}, .every = 0, .labelled = false};
  EXPECT_FALSE(keeps(nothing, 51, version(50, "a")));
}

TEST(IsSeen, FromItsPositionUntilItIsReplaced) {
  EXPECT_TRUE(is_seen(5, 9, 5));
  EXPECT_TRUE(is_seen(5, 9, 8));
  EXPECT_FALSE(is_seen(5, 9, 9));
  EXPECT_FALSE(is_seen(5, 9, std::nullopt));
  EXPECT_TRUE(is_seen(5, never, 1'000));
}

TEST(Shadows, JoinWhereTheyTouch) {
  const Shadow a{.first = 2, .upto = 5, .entries = 1, .tally = {.turns = 1}};
  const Shadow b{.first = 5, .upto = 9, .entries = 2, .tally = {.turns = 3}};
  EXPECT_TRUE(touch(a, b));
  EXPECT_TRUE(touch(b, a));
  EXPECT_FALSE(touch(a, {.first = 6, .upto = 7}));
  EXPECT_EQ(join(b, a), (Shadow{.first = 2, .upto = 9, .entries = 3, .tally = {.turns = 4}}));
}

TEST(Needs, AllOfAnOpenCallAndTheResultOfOneThatHoldsItsKey) {
  Call call{.position = 3, .args = 4, .result = 5, .key = Digest{}};
  for (const CallState open : {CallState::intended, CallState::dispatched, CallState::in_doubt}) {
    call.state = open;
    EXPECT_TRUE(needs(call, 3) && needs(call, 4) && needs(call, 5)) << to_string(open);
    EXPECT_FALSE(needs(call, 6));
  }
  call.state = CallState::succeeded;
  EXPECT_TRUE(needs(call, 5));
  EXPECT_FALSE(needs(call, 3) || needs(call, 4));
  call.state = CallState::failed;
  EXPECT_FALSE(needs(call, 5));
  call.state = CallState::succeeded;
  call.key.reset();
  EXPECT_FALSE(needs(call, 5));
}

TEST(ClaimOf, ACallHasNoPayload) {
  Call call{.position = 3, .args = 4, .result = 5, .provider_id = "p", .key = Digest{}};
  call.state = CallState::abandoned;
  call.who = "ann";
  call.why = "secret";
  const auto claim = claim_of(call);
  ASSERT_TRUE(claim);
  EXPECT_EQ(claim->position, 3U);
  EXPECT_EQ(claim->result, std::nullopt);
  EXPECT_EQ(claim->args, 0U);
  EXPECT_EQ(claim->provider_id + claim->who + claim->why, "");
  call.state = CallState::failed;
  EXPECT_FALSE(claim_of(call));
}

TEST(CheckGrace, RefusesLessThanTheLeast) {
  EXPECT_TRUE(check_grace(blob_grace_min));
  EXPECT_EQ(check_grace(blob_grace_min - Duration(1)).error().code, ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace perdure::rules
