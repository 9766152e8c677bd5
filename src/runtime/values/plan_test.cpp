// Plans: evidence, readiness, JSON.

#include "perdure/runtime/plan.hpp"

#include <cstdint>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <string>
#include <string_view>

#include "perdure/core/error.hpp"
#include "perdure/core/time.hpp"
#include "values/codec_rules.hpp"

namespace perdure {
namespace {

Plan two_steps() {
  Plan plan{.id = "p", .objective = "Ship it"};
  add_step(plan, "build");
  add_step(plan, "test");
  add_postcondition(plan, "all green");
  return plan;
}

TEST(Plan, NumbersItsSteps) {
  Plan plan = two_steps();
  EXPECT_EQ(plan.steps[0].id, "s1");
  EXPECT_EQ(plan.steps[1].id, "s2");
  plan.steps.erase(plan.steps.begin());
  EXPECT_EQ(add_step(plan, "release"), "s3");
}

TEST(Plan, AStepIsDoneOnlyWithEvidence) {
  Plan plan = two_steps();
  for (const StepUpdate& update : {StepUpdate{.status = StepStatus::done},
                                   StepUpdate{.status = StepStatus::done, .evidence = " \n"}}) {
    const auto refused = update_step(plan, "s1", update);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
    EXPECT_EQ(plan, two_steps());
  }
  ASSERT_TRUE(update_step(plan, "s1", {.status = StepStatus::done, .evidence = "log 12"}));
  EXPECT_EQ(plan.steps[0].evidence, "log 12");
}

TEST(Plan, EvidenceGoesWhenAStepIsOpenedAgain) {
  Plan plan = two_steps();
  ASSERT_TRUE(update_step(plan, "s1", {.status = StepStatus::done, .evidence = "log 12"}));
  ASSERT_TRUE(update_step(plan, "s1", {.status = StepStatus::in_progress, .notes = "again"}));
  EXPECT_FALSE(plan.steps[0].evidence);
  EXPECT_EQ(plan.steps[0].notes, "again");
  EXPECT_FALSE(update_step(plan, "s1", {.status = StepStatus::done}));
}

TEST(Plan, APostconditionIsSatisfiedOnlyWithEvidence) {
  Plan plan = two_steps();
  EXPECT_EQ(satisfy(plan, 0, "").error().code, ErrorCode::invalid_argument);
  EXPECT_FALSE(plan.postconditions[0].is_satisfied);
  ASSERT_TRUE(satisfy(plan, 0, "run 7"));
  EXPECT_TRUE(plan.postconditions[0].is_satisfied);
  ASSERT_TRUE(retract(plan, 0));
  EXPECT_FALSE(plan.postconditions[0].is_satisfied || plan.postconditions[0].evidence);
}

TEST(Plan, SaysWhatIsNotThere) {
  Plan plan = two_steps();
  EXPECT_EQ(update_step(plan, "s9", {}).error().code, ErrorCode::not_found);
  EXPECT_EQ(satisfy(plan, 1, "x").error().code, ErrorCode::not_found);
  EXPECT_EQ(retract(plan, 1).error().code, ErrorCode::not_found);
}

TEST(Plan, IsReadyWhenAllIsDoneOrBlockedAndSatisfied) {
  Plan plan = two_steps();
  EXPECT_FALSE(plan.is_ready_to_finish());
  ASSERT_TRUE(update_step(plan, "s1", {.status = StepStatus::done, .evidence = "log 12"}));
  ASSERT_TRUE(update_step(plan, "s2", {.status = StepStatus::blocked}));
  EXPECT_FALSE(plan.is_ready_to_finish());
  ASSERT_TRUE(satisfy(plan, 0, "run 7"));
  EXPECT_TRUE(plan.is_ready_to_finish());
  EXPECT_TRUE(Plan{}.is_ready_to_finish());
}

TEST(Plan, IsNotReadyOnClaimsWithoutEvidence) {
  const auto step =
      plan_from_json(R"({"objective":"","steps":[{"id":"s1","status":"done","evidence":null}]})");
  ASSERT_TRUE(step) << step.error().message;
  EXPECT_FALSE(step->is_ready_to_finish());
  const auto condition =
      plan_from_json(R"({"objective":"","postconditions":[{"description":"d","satisfied":true}]})");
  ASSERT_TRUE(condition);
  EXPECT_FALSE(condition->is_ready_to_finish());
}

TEST(Plan, RefusesWhatIsNone) {
  for (const std::string_view text :
       {"", "{}", R"({"objective":1})", R"({"objective":"","steps":[{"id":"s1"}]})",
        R"({"objective":"","steps":[{"id":"s1","status":"finished"}]})",
        R"({"objective":"","steps":[{"id":"s1","status":""}]})",
        R"({"objective":"","created_at":"yesterday"})", R"({"objective":"","steps":[1]})",
        R"({"objective":"","postconditions":[{"description":"d","satisfied":1}]})"}) {
    const auto plan = plan_from_json(text);
    ASSERT_FALSE(plan) << text;
    EXPECT_EQ(plan.error().code, ErrorCode::invalid_argument) << text;
  }
}

RC_GTEST_PROP(PlanProperty, ComesBackWithAnyBytes,
              (const std::string& a, const std::string& b, bool flag)) {
  Plan plan{.id = a, .objective = b, .unknown = *values::any_unknown()};
  plan.created_at = Timestamp(Duration(*rc::gen::arbitrary<std::int64_t>()));
  add_step(plan, b);
  plan.steps[0].notes = a;
  plan.steps[0].unknown = *values::any_unknown();
  plan.steps[0].status = *rc::gen::element(StepStatus::pending, StepStatus::in_progress,
                                           StepStatus::done, StepStatus::blocked);
  if (flag) plan.steps[0].evidence = a;
  plan.postconditions.push_back(
      {.description = a, .is_satisfied = flag, .evidence = b, .unknown = *values::any_unknown()});
  values::check_codec(plan, plan_from_json);
}

}  // namespace
}  // namespace perdure
