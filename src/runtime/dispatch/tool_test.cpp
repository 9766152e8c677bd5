// Tools: the effect class that follows, and declarations that contradict each other.

#include "perdure/runtime/tool.hpp"

#include <functional>
#include <gtest/gtest.h>
#include <string>
#include <utility>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/store/ledger.hpp"
#include "runtime/api/session.hpp"

namespace perdure {
namespace {

Tool plain() {
  Tool tool;
  tool.name = "t";
  tool.run = [](const CallContext&) -> ToolOutcome { return Succeeded{}; };
  return tool;
}

Tool with(const std::function<void(Tool&)>& change) {
  Tool tool = plain();
  change(tool);
  return tool;
}

Verdict never(const VerifyContext&) { return NotLanded{}; }

TEST(EffectClass, FollowsFromWhatIsDeclared) {
  EXPECT_EQ(effect_class_of(plain()), EffectClass::unsafe);
  EXPECT_EQ(effect_class_of(with([](Tool& t) { t.side_effects = {.read = true}; })),
            EffectClass::read_only);
  EXPECT_EQ(
      effect_class_of(with([](Tool& t) { t.side_effects = {.read = true, .network = true}; })),
      EffectClass::read_only);
  EXPECT_EQ(effect_class_of(with([](Tool& t) { t.side_effects = {.read = true, .write = true}; })),
            EffectClass::unsafe);
  EXPECT_EQ(effect_class_of(with([](Tool& t) {
              t.side_effects = {.mutate = true};
              t.verify = never;
            })),
            EffectClass::verifiable);
  EXPECT_EQ(effect_class_of(with([](Tool& t) {
              t.side_effects = {.mutate = true};
              t.verify = never;
              t.honours_key = true;
            })),
            EffectClass::idempotent);
}

TEST(EffectClass, OfAnUndeclaredToolWithVerifyIsVerifiable) {
  EXPECT_EQ(effect_class_of(with([](Tool& t) { t.verify = never; })), EffectClass::verifiable);
}

TEST(EffectClass, OfAToolThatItsSessionAnswersIsIdempotent) {
  Tool tool{.name = "t"};
  tool.answer = answered_by([](const State&, Position, const Json&) { return SessionAnswer{}; });
  EXPECT_EQ(effect_class_of(tool), EffectClass::idempotent);
  EXPECT_TRUE(Tools::of({tool}));
}

TEST(Tools, AreFoundByName) {
  const auto tools = Tools::of({plain()});
  ASSERT_TRUE(tools);
  EXPECT_NE(tools->find("t"), nullptr);
  EXPECT_EQ(tools->find("u"), nullptr);
}

TEST(Tools, RefuseContradictions) {
  const std::vector<std::function<void(Tool&)>> mistakes = {
      [](Tool& t) { t.name = ""; },
      [](Tool& t) { t.run = {}; },
      [](Tool& t) { t.side_effects = SideEffects{}; },
      [](Tool& t) { t.honours_key = true; },
      [](Tool& t) {
        t.side_effects = {.read = true};
        t.honours_key = true;
      },
      [](Tool& t) {
        t.side_effects = {.read = true};
        t.verify = never;
      },
      [](Tool& t) { t.key_window = Duration(1); },
      [](Tool& t) { t.timeout = Duration(0); },
      [](Tool& t) { t.verify_timeout = Duration(-1); },
      [](Tool& t) { t.in_flight_max = Duration(-1); },
      [](Tool& t) { t.attempts_max = 0; },
      [](Tool& t) { t.input_schema = "{"; },
      [](Tool& t) { t.business_key = "order"; },
      [](Tool& t) {
        t.answer = answered_by([](const State&, Position, const Json&) { return SessionAnswer{}; });
      },
  };
  for (std::size_t i = 0; i < mistakes.size(); ++i) {
    const auto tools = Tools::of({with(mistakes[i])});
    ASSERT_FALSE(tools) << i;
    EXPECT_EQ(tools.error().code, ErrorCode::invalid_argument) << i;
  }
}

TEST(Tools, RefuseTwoOfOneName) { EXPECT_FALSE(Tools::of({plain(), plain()})); }

}  // namespace
}  // namespace perdure
