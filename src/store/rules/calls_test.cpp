// The arrows of ledger.hpp, each one and no other.

#include "rules/calls.hpp"

#include <array>
#include <cstdint>
#include <gtest/gtest.h>
#include <optional>
#include <set>
#include <utility>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/ledger.hpp"

namespace perdure::rules {
namespace {

constexpr std::array all_states = {
    CallState::intended, CallState::dispatched, CallState::succeeded, CallState::failed,
    CallState::in_doubt, CallState::abandoned,  CallState::denied,    CallState::cancelled,
};

const Timestamp noon{Duration(1'000)};

Call call_in(CallState state) {
  Intend intent;
  intent.call = 12;
  intent.args = 11;
  intent.tool = "send_mail";
  intent.key = sha256("key");
  Call call = intended(SessionId::parse("ses_1").value(), intent, noon);
  call.state = state;
  return call;
}

Result<void> move(Call& call, CallState to) {
  if (to == CallState::dispatched) return dispatch(call, {.call = 12, .deadline = {}}, 3, noon);
  Settle change;
  change.call = 12;
  change.state = to;
  return settle(call, change, noon);
}

TEST(Calls, AnIntentIsWrittenDownAsGiven) {
  const Call call = call_in(CallState::intended);

  EXPECT_EQ(call.session.text(), "ses_1");
  EXPECT_EQ(call.position, 12U);
  EXPECT_EQ(call.args, 11U);
  EXPECT_EQ(call.tool, "send_mail");
  EXPECT_EQ(call.key, sha256("key"));
  EXPECT_EQ(call.intended_at, noon);
  EXPECT_EQ(call.attempts, 0);
}

TEST(Calls, StatesMoveAlongTheArrowsOnly) {
  using enum CallState;
  const std::set<std::pair<CallState, CallState>> arrows = {
      {intended, dispatched},  {intended, denied},    {intended, cancelled},
      {dispatched, succeeded}, {dispatched, failed},  {dispatched, in_doubt},
      {failed, dispatched},    {in_doubt, succeeded}, {in_doubt, failed},
      {in_doubt, abandoned},   {in_doubt, dispatched}};
  for (const CallState from : all_states) {
    for (const CallState to : all_states) {
      Call call = call_in(from);
      const Call before = call;
      const auto moved = move(call, to);
      EXPECT_EQ(moved.has_value(), arrows.contains({from, to}))
          << to_string(from) << " -> " << to_string(to);
      if (moved) {
        EXPECT_EQ(call.state, to);
      } else {
        EXPECT_EQ(moved.error().code, ErrorCode::conflict);
        EXPECT_EQ(moved.error().subject, "ses_1:12");
        EXPECT_EQ(call, before);
      }
    }
  }
}

TEST(Calls, AKeyIsHeldWhileTheEffectMayHaveHappened) {
  using enum CallState;
  const std::set<CallState> holding = {dispatched, in_doubt, succeeded, abandoned};
  for (const CallState state : all_states) {
    EXPECT_EQ(holds_key(state), holding.contains(state)) << to_string(state);
  }
}

TEST(Calls, WhatABundleSaysWasMadeHoldsNoKey) {
  for (const CallState state : all_states) {
    for (const std::int64_t attempts : {0, 1}) {
      Call call = call_in(state);
      call.key = sha256("refund order 1");
      call.attempts = attempts;
      disown(call);
      EXPECT_FALSE(held_key(call)) << to_string(state) << " after " << attempts;
      EXPECT_EQ(call.claimed.has_value(), attempts > 0 || holds_key(state)) << to_string(state);
    }
  }
}

TEST(Calls, ASecondAttemptForgetsTheOutcomeOfTheFirst) {
  Call call = call_in(CallState::intended);
  ASSERT_TRUE(dispatch(call, {.call = 12, .deadline = noon + Duration(5)}, 3, noon));
  Settle failure;
  failure.state = CallState::failed;
  failure.result = 13;
  failure.who = "policy";
  failure.why = "refused";
  ASSERT_TRUE(settle(call, failure, noon + Duration(1)));
  EXPECT_EQ(call.failures, 1);
  EXPECT_EQ(call.result, 13U);
  EXPECT_EQ(call.who, "policy");
  EXPECT_EQ(call.settled_at, noon + Duration(1));

  ASSERT_TRUE(dispatch(call, {.call = 12, .deadline = {}}, 4, noon + Duration(2)));

  EXPECT_EQ(call.attempts, 2);
  EXPECT_EQ(call.failures, 1);
  EXPECT_EQ(call.fence, 4U);
  EXPECT_EQ(call.dispatched_at, noon + Duration(2));
  EXPECT_EQ(call.deadline, std::nullopt);
  EXPECT_EQ(call.settled_at, std::nullopt);
  EXPECT_EQ(call.result, std::nullopt);
  EXPECT_EQ(call.who + call.why, "");
}

}  // namespace
}  // namespace perdure::rules
