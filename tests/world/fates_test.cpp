// What can become of a request on its way, each as planned.

#include <chrono>
#include <future>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stop_token>
#include <string>
#include <variant>

#include "perdure/core/json.hpp"
#include "world/client.hpp"
#include "world/wire.hpp"
#include "world/world.hpp"
#include "world/world_fixture.hpp"

namespace perdure::world {
namespace {

using testing::ElementsAre;

class WorldFates : public WorldTest {};

TEST_F(WorldFates, ALostRequestIsNeverApplied) {
  world.plan({.fate = Fate::lose_request});
  EXPECT_TRUE(is_lost(pay("pay-1", "k")));
  EXPECT_EQ(requests("pay-1"), 1);
  EXPECT_EQ(effects("pay-1"), 0);
  EXPECT_FALSE(has_landed("pay-1"));
}

TEST_F(WorldFates, ALostAnswerLeavesTheEffect) {
  world.plan({.fate = Fate::lose_answer});
  EXPECT_TRUE(is_lost(pay("pay-1")));
  EXPECT_EQ(effects("pay-1"), 1);
  EXPECT_TRUE(has_landed("pay-1"));
}

TEST_F(WorldFates, ALateRequestLandsWhenItIsDelivered) {
  world.plan({.fate = Fate::late});
  EXPECT_TRUE(is_lost(pay("pay-1", "k")));
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(has_landed("pay-1"));

  world.deliver();

  EXPECT_TRUE(has_landed("pay-1"));
  world.deliver();
  EXPECT_EQ(world.count("pay-1"), (Tally{.op = "pay-1", .requests = {"k"}, .effects = {"k"}}));
}

TEST_F(WorldFates, ALateRequestLandsRightAfterAVerifySaidNo) {
  world.plan({.fate = Fate::late, .after = 1});
  EXPECT_TRUE(is_lost(pay("pay-1")));
  EXPECT_EQ(effects("pay-1"), 0) << "a judge's questions are no requests";

  EXPECT_FALSE(has_landed("pay-1"));
  EXPECT_TRUE(has_landed("pay-1"));
}

TEST_F(WorldFates, ALateRequestLandsAfterSoManyFurtherOnes) {
  world.plan({.fate = Fate::late, .op = "pay-1", .after = 3});
  (void)pay("pay-1");
  (void)pay("pay-2");
  (void)client.look("price-1", "look");
  EXPECT_EQ(effects("pay-1"), 0);
  (void)pay("pay-3");
  EXPECT_EQ(effects("pay-1"), 1);
}

TEST_F(WorldFates, ALateRequestAndItsRetryAreOneOnlyIfTheKeyIsHonoured) {
  for (const bool honours_key : {true, false}) {
    const std::string op = honours_key ? "pay-1" : "pay-2";
    world.plan({.fate = Fate::late});
    (void)pay(op, "key of " + op, honours_key);
    (void)pay(op, "key of " + op, honours_key);
    world.deliver();
    EXPECT_EQ(effects(op), honours_key ? 1 : 2);
  }
}

TEST_F(WorldFates, LateRequestsLandInTheOrderTheyWereSent) {
  world.plan({.fate = Fate::late, .nth = 1});
  world.plan({.fate = Fate::late, .nth = 2});
  (void)pay("pay-1", "a");
  (void)pay("pay-1", "b");
  world.deliver();
  EXPECT_THAT(world.count("pay-1").effects, ElementsAre("a", "b"));
}

TEST_F(WorldFates, ADuplicateTakesEffectTwiceUnlessTheKeyIsHonoured) {
  for (const bool honours_key : {true, false}) {
    const std::string op = honours_key ? "pay-1" : "pay-2";
    world.plan({.fate = Fate::twice});
    EXPECT_TRUE(std::holds_alternative<Answered>(pay(op, "key of " + op, honours_key)));
    EXPECT_EQ(effects(op), honours_key ? 1 : 2);
    EXPECT_EQ(requests(op), 1) << "it was sent once";
  }
}

TEST_F(WorldFates, ADenialIsAnAnswerAndNothingHappened) {
  world.plan({.fate = Fate::deny});
  EXPECT_TRUE(is_denied(pay("pay-1", "k", true)));
  EXPECT_EQ(effects("pay-1"), 0);

  EXPECT_TRUE(std::holds_alternative<Answered>(pay("pay-1", "k", true))) << "its key is free";
  EXPECT_EQ(effects("pay-1"), 1);
}

TEST_F(WorldFates, AHeldAnswerComesWhenItIsReleased) {
  world.plan({.fate = Fate::hang});
  auto reply = std::async(std::launch::async, [this] { return pay("pay-1"); });
  world.await("pay-1", 1);
  EXPECT_EQ(effects("pay-1"), 1);
  EXPECT_EQ(reply.wait_for(std::chrono::seconds(0)), std::future_status::timeout);

  world.release();

  EXPECT_EQ(text_of(reply.get()), R"({"id":1,"applied":true})");
}

TEST_F(WorldFates, AStopEndsTheWaitForAHeldAnswer) {
  world.plan({.fate = Fate::hang});
  const std::stop_source stop;
  auto reply = std::async(std::launch::async, [this, token = stop.get_token()] {
    return client.effect({.op = "pay-1"}, token);
  });
  world.await("pay-1", 1);

  stop.request_stop();

  EXPECT_TRUE(is_lost(reply.get()));
  EXPECT_EQ(effects("pay-1"), 1);
}

TEST_F(WorldFates, AStopBeforeTheRequestSendsNothing) {
  const std::stop_source stop;
  stop.request_stop();
  EXPECT_TRUE(is_denied(client.effect({.op = "pay-1"}, stop.get_token())));
  EXPECT_EQ(requests("pay-1"), 0);
}

TEST_F(WorldFates, OfAnswersToVerifyAndLookCanBePlannedToo) {
  world.plan({.fate = Fate::lose_answer, .of = "verify"});
  world.plan({.fate = Fate::lose_answer, .of = "look"});
  EXPECT_TRUE(std::holds_alternative<Answered>(pay("pay-1")));
  EXPECT_TRUE(is_lost(client.verify_op("pay-1")));
  EXPECT_TRUE(is_lost(client.look("price-1", "look")));
  EXPECT_TRUE(has_landed("pay-1"));
}

class WorldPlans : public WorldTest {};

TEST_F(WorldPlans, AreForOneRequest) {
  world.plan({.fate = Fate::lose_answer});
  EXPECT_TRUE(is_lost(pay("pay-1")));
  EXPECT_TRUE(std::holds_alternative<Answered>(pay("pay-1")));
}

TEST_F(WorldPlans, AreForTheNthThatFits) {
  world.plan({.fate = Fate::deny, .op = "pay-1", .nth = 2});
  EXPECT_FALSE(is_denied(pay("pay-1")));
  EXPECT_FALSE(is_denied(pay("pay-2")));
  EXPECT_TRUE(is_denied(pay("pay-1")));
}

TEST_F(WorldPlans, AreForTheToolTheyName) {
  world.plan({.fate = Fate::deny, .tool = "mail"});
  EXPECT_FALSE(is_denied(pay("pay-1")));
  EXPECT_TRUE(is_denied(client.effect({.op = "mail-1", .tool = "mail"})));
}

TEST_F(WorldPlans, ThatAreDueTogetherFollowEachOther) {
  world.plan({.fate = Fate::lose_request});
  world.plan({.fate = Fate::deny});
  EXPECT_TRUE(is_lost(pay("pay-1")));
  EXPECT_TRUE(is_denied(pay("pay-1")));
  EXPECT_FALSE(is_denied(pay("pay-1")));
}

TEST_F(WorldPlans, CountEveryRequestThatFits) {
  world.plan({.fate = Fate::lose_request, .nth = 1});
  world.plan({.fate = Fate::deny, .nth = 3});
  EXPECT_TRUE(is_lost(pay("pay-1")));
  EXPECT_FALSE(is_denied(pay("pay-1")));
  EXPECT_TRUE(is_denied(pay("pay-1")));
}

TEST_F(WorldPlans, EveryFateHasAName) {
  for (const Fate fate : all_fates) EXPECT_EQ(fate_from(to_string(fate)), fate);
  EXPECT_FALSE(fate_from("luck"));
}

}  // namespace
}  // namespace perdure::world
