// The words that stand in database files: a change here breaks stores that exist.

#include <gtest/gtest.h>
#include <optional>

#include "perdure/core/id.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/sessions.hpp"
#include "store/api/lookup.hpp"

namespace perdure {
namespace {

TEST(Words, OfAStatus) {
  EXPECT_EQ(to_string(Status::active), "active");
  EXPECT_EQ(to_string(Status::waiting), "waiting");
  EXPECT_EQ(to_string(Status::paused), "paused");
  EXPECT_EQ(to_string(Status::completed), "completed");
  EXPECT_EQ(to_string(Status::failed), "failed");
  EXPECT_EQ(to_string(Status::cancelled), "cancelled");
  EXPECT_EQ(status_from("waiting"), Status::waiting);
  EXPECT_EQ(status_from("Waiting"), std::nullopt);
  EXPECT_EQ(status_from(""), std::nullopt);
}

TEST(Words, OfACallState) {
  EXPECT_EQ(to_string(CallState::intended), "intended");
  EXPECT_EQ(to_string(CallState::dispatched), "dispatched");
  EXPECT_EQ(to_string(CallState::succeeded), "succeeded");
  EXPECT_EQ(to_string(CallState::failed), "failed");
  EXPECT_EQ(to_string(CallState::in_doubt), "in_doubt");
  EXPECT_EQ(to_string(CallState::abandoned), "abandoned");
  EXPECT_EQ(to_string(CallState::denied), "denied");
  EXPECT_EQ(to_string(CallState::cancelled), "cancelled");
  EXPECT_EQ(call_state_from("in_doubt"), CallState::in_doubt);
  EXPECT_EQ(call_state_from("in doubt"), std::nullopt);
}

TEST(Words, OfAnEffectClass) {
  EXPECT_EQ(to_string(EffectClass::read_only), "read_only");
  EXPECT_EQ(to_string(EffectClass::idempotent), "idempotent");
  EXPECT_EQ(to_string(EffectClass::verifiable), "verifiable");
  EXPECT_EQ(to_string(EffectClass::unsafe), "unsafe");
  EXPECT_EQ(effect_class_from("verifiable"), EffectClass::verifiable);
  EXPECT_EQ(effect_class_from("safe"), std::nullopt);
}

TEST(Words, OfACall) { EXPECT_EQ(call_name(SessionId::parse("ses_1").value(), 12), "ses_1:12"); }

}  // namespace
}  // namespace perdure
