// A world in which nothing goes wrong: effects, keys, questions.

#include "world/world.hpp"

#include <cstddef>
#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "world/client.hpp"
#include "world/socket.hpp"
#include "world/wire.hpp"
#include "world/world_fixture.hpp"

namespace perdure::world {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class WorldEffects : public WorldTest {};

TEST_F(WorldEffects, AreAppliedAndAnsweredWithAnId) {
  EXPECT_EQ(text_of(pay("pay-1")), R"({"id":1,"applied":true})");
  EXPECT_EQ(text_of(pay("pay-2")), R"({"id":2,"applied":true})");
}

TEST_F(WorldEffects, AreCountedPerOperation) {
  (void)pay("pay-1", "a");
  (void)pay("pay-2", "b");
  (void)pay("pay-1", "c");

  EXPECT_EQ(world.count("pay-1"),
            (Tally{.op = "pay-1", .requests = {"a", "c"}, .effects = {"a", "c"}}));
  EXPECT_EQ(world.count("pay-2"), (Tally{.op = "pay-2", .requests = {"b"}, .effects = {"b"}}));
  EXPECT_EQ(world.count("pay-3"), Tally{.op = "pay-3"});
  EXPECT_THAT(world.all(), ElementsAre(world.count("pay-1"), world.count("pay-2")));
}

TEST_F(WorldEffects, WithoutAnOperationAreDenied) {
  EXPECT_TRUE(is_denied(pay("")));
  EXPECT_THAT(world.all(), IsEmpty());
}

class WorldKeys : public WorldTest {};

TEST_F(WorldKeys, ThatAreHonouredTakeEffectOnceAndAreAnsweredAlike) {
  const std::string first = text_of(pay("pay-1", "k", true));
  (void)pay("pay-2", "l", true);

  EXPECT_EQ(text_of(pay("pay-1", "k", true)), first);
  EXPECT_THAT(world.count("pay-1").requests, ElementsAre("k", "k"));
  EXPECT_THAT(world.count("pay-1").effects, ElementsAre("k"));
}

TEST_F(WorldKeys, ThatAreNotHonouredTakeEffectAgain) {
  (void)pay("pay-1", "k");
  EXPECT_EQ(text_of(pay("pay-1", "k")), R"({"id":2,"applied":true})");
  EXPECT_EQ(effects("pay-1"), 2);
}

TEST_F(WorldKeys, ThatAreEmptyAreNone) {
  (void)pay("pay-1", "", true);
  (void)pay("pay-1", "", true);
  EXPECT_EQ(effects("pay-1"), 2);
}

TEST_F(WorldKeys, WithOtherArgumentsAreDenied) {
  EffectRequest request{.op = "pay-1", .key = "k", .tool = "pay", .honours_key = true};
  request.args = Json::Object{{"op", "pay-1"}, {"cents", 1}};
  (void)client.effect(request);

  request.args = Json::Object{{"cents", 1}, {"op", "pay-1"}};
  EXPECT_EQ(text_of(client.effect(request)), R"({"id":1,"applied":true})") << "another order only";
  request.args = Json::Object{{"op", "pay-1"}, {"cents", 2}};
  EXPECT_TRUE(is_denied(client.effect(request)));
  EXPECT_EQ(effects("pay-1"), 1);
}

TEST_F(WorldKeys, ThatWereForgottenTakeEffectAgain) {
  (void)pay("pay-1", "k", true);
  world.forget_keys();
  (void)pay("pay-1", "k", true);
  EXPECT_EQ(effects("pay-1"), 2);
}

class WorldQuestions : public WorldTest {};

TEST_F(WorldQuestions, OfVerifyAreAnsweredByOpAndByKey) {
  (void)pay("pay-1", "k");
  const std::string landed = R"({"landed":true,"answer":{"id":1,"applied":true}})";

  EXPECT_EQ(text_of(client.verify_op("pay-1")), landed);
  EXPECT_EQ(text_of(client.verify_key("k")), landed);
  EXPECT_EQ(text_of(client.verify_op("pay-2")), R"({"landed":false})");
  EXPECT_EQ(text_of(client.verify_key("l")), R"({"landed":false})");
  EXPECT_TRUE(is_denied(client.verify_key("")));
}

TEST_F(WorldQuestions, OfVerifyChangeNothing) {
  (void)pay("pay-1", "k");
  const auto before = world.all();
  const auto bytes = std::filesystem::file_size(world.file());

  (void)client.verify_op("pay-1");
  (void)client.verify_op("pay-2");

  EXPECT_EQ(world.all(), before);
  EXPECT_EQ(std::filesystem::file_size(world.file()), bytes);
}

TEST_F(WorldQuestions, OfALookAreCountedAndHaveNoEffect) {
  EXPECT_EQ(text_of(client.look("price-1", "look")), R"({"op":"price-1","effects":0})");
  EXPECT_EQ(requests("price-1"), 1);
  EXPECT_EQ(effects("price-1"), 0);
}

TEST_F(WorldQuestions, ThatNobodyKnowsAreDenied) {
  EXPECT_TRUE(is_denied(client.ask(Json::Object{{"request", "dance"}})));
  EXPECT_THROW(world.plan({.fate = Fate::late, .nth = 0}), std::runtime_error);
}

TEST_F(WorldQuestions, AreAnsweredAfterWhatWasSentBeforeThem) {
  // Nobody reads the answers: the judge asks while each request is still on its way.
  std::vector<Result<Socket>> senders;
  for (std::size_t sent = 1; sent <= 200; ++sent) {
    senders.push_back(connect_to(world.socket()));
    ASSERT_TRUE(senders.back());
    ASSERT_TRUE(send_all(*senders.back(), "{\"request\":\"effect\",\"op\":\"pay-1\"}\n"));
    ASSERT_EQ(effects("pay-1"), sent);
  }
}

TEST_F(WorldQuestions, EndWithTheWorld) { EXPECT_TRUE(world.quit().is_clean()); }

}  // namespace
}  // namespace perdure::world
