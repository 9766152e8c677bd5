// The tools over the world, and the script made of them.

#include "world/tools.hpp"

#include <gtest/gtest.h>
#include <set>
#include <string>
#include <utility>
#include <variant>

#include "perdure/core/json.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"
#include "world/client.hpp"
#include "world/script.hpp"
#include "world/wire.hpp"
#include "world/world_fixture.hpp"

namespace perdure::world {
namespace {

class WorldTools : public WorldTest {
 protected:
  static ToolOutcome run(const Tool& tool, const Json& given, const std::string& key = "k") {
    return tool.run({.args = given, .key = key});
  }
  [[nodiscard]] Verdict verify(const Json& given) const {
    return verifiable(client).verify({.args = given});
  }

  Json args = Json::Object{{"op", "pay-1"}};
};

TEST_F(WorldTools, AreOfTheClassAndTheRuleTheyAreNamedFor) {
  const auto tools = Tools::of(every_tool(client));
  ASSERT_TRUE(tools) << tools.error().message;
  for (const EffectClass effect : {EffectClass::read_only, EffectClass::idempotent,
                                   EffectClass::verifiable, EffectClass::unsafe}) {
    for (const Repeat repeat :
         {Repeat::each_call, Repeat::once_per_session, Repeat::once_per_store}) {
      const Tool* const tool = tools->find(tool_name(effect, repeat));
      ASSERT_NE(tool, nullptr) << tool_name(effect, repeat);
      EXPECT_EQ(effect_class_of(*tool), effect) << tool->name;
      EXPECT_EQ(tool->repeat, repeat) << tool->name;
    }
  }
}

TEST_F(WorldTools, SucceedWithTheWorldsAnswer) {
  EXPECT_EQ(std::get<Succeeded>(run(unsafe(client), args)).content, R"({"id":1,"applied":true})");
  EXPECT_EQ(std::get<Succeeded>(run(read_only(client), args)).content,
            R"({"op":"pay-1","effects":1})");
}

TEST_F(WorldTools, HaveFailedIfTheWorldSaysThatNothingHappened) {
  for (const Tool& tool : every_tool(client)) {
    world.plan({.fate = Fate::deny,
                .of = effect_class_of(tool) == EffectClass::read_only ? "look" : "effect",
                .tool = tool.name});
    EXPECT_TRUE(std::holds_alternative<Failed>(run(tool, args))) << tool.name;
  }
  EXPECT_EQ(effects("pay-1"), 0);
}

TEST_F(WorldTools, AreDoubtfulIfTheConnectionIsLost) {
  for (const Tool& tool : every_tool(client)) {
    world.plan({.fate = Fate::lose_answer,
                .of = effect_class_of(tool) == EffectClass::read_only ? "look" : "effect",
                .tool = tool.name});
    EXPECT_TRUE(std::holds_alternative<Doubtful>(run(tool, args))) << tool.name;
  }
}

TEST_F(WorldTools, WithoutAnOperationFailAndSendNothing) {
  for (const Tool& tool : every_tool(client)) {
    EXPECT_TRUE(std::holds_alternative<Failed>(run(tool, Json::Object{}))) << tool.name;
  }
  EXPECT_TRUE(world.all().empty());
}

TEST_F(WorldTools, ThatAreIdempotentTakeEffectOncePerKeyAndTheOthersEachTime) {
  for (const Tool& tool : every_tool(client)) {
    const Json op = Json::Object{{"op", tool.name}};
    (void)run(tool, op, "key of " + tool.name);
    (void)run(tool, op, "key of " + tool.name);
    const EffectClass effect = effect_class_of(tool);
    const std::size_t wanted = effect == EffectClass::read_only    ? 0
                               : effect == EffectClass::idempotent ? 1
                                                                   : 2;
    EXPECT_EQ(effects(tool.name), wanted) << tool.name;
    EXPECT_EQ(requests(tool.name), 2) << tool.name;
  }
}

TEST_F(WorldTools, VerifySaysWhatTheCallWouldHave) {
  EXPECT_TRUE(std::holds_alternative<NotLanded>(verify(args)));
  const auto outcome = std::get<Succeeded>(run(verifiable(client), args));
  EXPECT_EQ(std::get<Landed>(verify(args)).content, outcome.content);
}

TEST_F(WorldTools, VerifyCannotTellWithoutAnAnswer) {
  for (const Fate fate : {Fate::lose_request, Fate::lose_answer, Fate::deny}) {
    world.plan({.fate = fate, .of = "verify"});
    EXPECT_TRUE(std::holds_alternative<CannotTell>(verify(args))) << to_string(fate);
  }
  EXPECT_TRUE(std::holds_alternative<CannotTell>(verify(Json::Object{}))) << "no op";
  world.kill();
  EXPECT_TRUE(std::holds_alternative<CannotTell>(verify(args))) << "no world";
}

TEST_F(WorldTools, OfTheScriptAreSixOfAllClassesAndRules) {
  const auto tools = Tools::of(every_tool(client));
  ASSERT_TRUE(tools);
  std::set<EffectClass> classes;
  std::set<Repeat> rules;
  std::set<std::string> ops;
  for (const ScriptedCall& call : scripted_calls()) {
    EXPECT_NE(tools->find(call.tool()), nullptr) << call.tool();
    classes.insert(call.effect);
    rules.insert(call.repeat);
    ops.insert(call.op);
  }
  EXPECT_EQ(classes.size(), 4);
  EXPECT_EQ(rules.size(), 3);
  EXPECT_EQ(ops.size(), 6);
}

TEST_F(WorldTools, OfTheScriptNameTheirOperationInAnyWords) {
  const auto tools = Tools::of(every_tool(client));
  ASSERT_TRUE(tools);
  for (const ScriptedCall& call : scripted_calls()) {
    EXPECT_NE(call.args, call.reworded);
    for (const std::string& words : {call.args, call.reworded}) {
      const auto parsed = parse_json(words);
      ASSERT_TRUE(parsed) << words;
      EXPECT_EQ(text_of(*parsed, "op"), call.op);
    }
    (void)run(*tools->find(call.tool()), parse_json(call.args).value(), call.op);
    EXPECT_EQ(std::ssize(world.count(call.op).effects), call.effects_max()) << call.op;
  }
}

}  // namespace
}  // namespace perdure::world
