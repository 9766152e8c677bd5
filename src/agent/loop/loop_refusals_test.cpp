// A model that asks again and again for what it will not get.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <optional>
#include <stop_token>
#include <string>
#include <variant>
#include <vector>

#include "loop/loop_fixture.hpp"
#include "perdure/agent/agent.hpp"
#include "perdure/agent/tools.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/sessions.hpp"

namespace perdure {
namespace {

using ::testing::HasSubstr;

class LoopRefusalsTest : public LoopTest {
 protected:
  void script_all(const std::vector<std::string>& responses) {
    std::string all;
    for (const std::string& response : responses) all += (all.empty() ? "" : ",") + response;
    script(all);
  }

  /// That one for ever.
  void script_always(std::vector<std::string> begin, const std::vector<std::string>& then) {
    for (int i = 0; i < 60; ++i) begin.insert(begin.end(), then.begin(), then.end());
    script_all(begin);
  }
};

std::string asking(const std::string& name, const std::string& args) {
  return R"({"calls": [{"name": ")" + name + R"(", "args": )" + args +
         R"(}], "usage": {"in": 1, "out": 1}})";
}

const std::string pay = asking_for({"pay"});

TEST_F(LoopRefusalsTest, TheThirdInARowEndsTheTurn) {
  script_always({}, {pay});
  begin(100'000);

  const TurnReport report = run("pay");

  EXPECT_EQ(report.stop, TurnStop::loop);
  EXPECT_EQ(report.responses, 5U) << "two that are made, three that are refused";
  EXPECT_EQ(runs["pay"], 2);
  EXPECT_THAT(report.why, HasSubstr("pay was asked for again and again"));
  EXPECT_EQ(row().status, Status::waiting);
  EXPECT_EQ(row().wait_reason, "loop: " + report.why);
  EXPECT_EQ(state().budget.totals.recorded(), 5 * 15)
      << "the request that was written ahead costs nothing";
}

TEST_F(LoopRefusalsTest, WhoeverRunsItAgainBeginsAfreshAndAWordOfAUserDoesToo) {
  script_always({}, {pay});
  begin();
  EXPECT_EQ(run("pay").stop, TurnStop::loop);
  restart();
  const TurnReport again = go_on();
  EXPECT_EQ(again.stop, TurnStop::loop);
  EXPECT_EQ(again.responses, 3U) << "all of them refused";
  EXPECT_EQ(runs["pay"], 2);

  const TurnReport told = run("pay again");
  EXPECT_EQ(told.stop, TurnStop::loop);
  EXPECT_EQ(told.responses, 5U);
  EXPECT_EQ(runs["pay"], 4) << "who asks for the same again means it";
}

TEST_F(LoopRefusalsTest, TheCountSurvivesAResume) {
  script_always({}, {pay});
  begin();
  std::stop_source stop;
  heard.on_each = [&, refused = 0](const AgentEvent& event) mutable {
    const auto* told = std::get_if<CallTold>(&event);
    if (told != nullptr && told->state == CallState::denied && ++refused == 2) stop.request_stop();
  };
  EXPECT_EQ(run("pay", stop.get_token()).stop, TurnStop::interrupted);
  heard.on_each = {};
  restart();

  const TurnReport report = go_on();

  EXPECT_EQ(report.stop, TurnStop::loop);
  EXPECT_EQ(report.responses, 1U);
}

TEST_F(LoopRefusalsTest, TheReasonDoesNotMatter) {
  spec.permissions.read = Permit::deny;
  for (const std::string& refused :
       {asking("nothing", "{}"), asking("pay", R"({"n": "x"})"), asking("look", "{}")}) {
    script_always({}, {refused});
    begin();
    const TurnReport report = run("go");
    EXPECT_EQ(report.stop, TurnStop::loop) << refused;
    EXPECT_EQ(report.responses, 3U) << refused;
  }
  EXPECT_TRUE(runs.empty());
}

TEST_F(LoopRefusalsTest, NorDoOtherRefusedCallsInBetween) {
  script_always({}, {asking("nothing", "{}"), asking("pay", R"({"n": "x"})")});
  begin();

  const TurnReport report = run("go");

  EXPECT_EQ(report.stop, TurnStop::loop);
  EXPECT_EQ(report.responses, 5U);
  EXPECT_THAT(report.why, HasSubstr("nothing was asked for"));
}

TEST_F(LoopRefusalsTest, ArgumentsThatChangeAreCorrections) {
  std::vector<std::string> wrong;
  for (int i = 0; i < 8; ++i)
    wrong.push_back(asking("pay", "{\"n\": \"" + std::to_string(i) + "\"}"));
  wrong.push_back(pay);
  wrong.push_back(saying("Paid."));
  script_all(wrong);
  begin();

  EXPECT_EQ(run("pay").stop, TurnStop::completed);
  EXPECT_EQ(runs["pay"], 1);
}

TEST_F(LoopRefusalsTest, WhatIsDoneInBetweenBeginsTheCountAnew) {
  const std::string wrong = asking("nothing", "{}");
  script_all({wrong, wrong, asking_for({"look"}, 1), wrong, wrong,
              R"({"calls": [{"name": "nothing", "args": {}}, {"name": "look", "args": {"n": 2}}]})",
              wrong, wrong, saying("Done.")});
  begin();

  EXPECT_EQ(run("go").stop, TurnStop::completed);
  EXPECT_EQ(runs["look"], 2);
}

TEST_F(LoopRefusalsTest, ManyInOneResponseAreToldOnce) {
  script_all({asking_for({"pay", "pay"}, 1),
              R"({"calls": [{"name": "no", "args": {}}, {"name": "no", "args": {}},
                            {"name": "no", "args": {}}, {"name": "no", "args": {}}]})",
              saying("I see.")});
  begin();

  EXPECT_EQ(run("go").stop, TurnStop::completed) << "it was told once, and stopped";
}

TEST_F(LoopRefusalsTest, AResponseThatWasCutOffInBetweenIsPassedOver) {
  const std::string wrong = asking("nothing", "{}");
  script_all({wrong, R"({"text": "Hm", "cut_off": "reset"})", wrong, wrong, wrong});
  begin();

  const TurnReport report = run("go");

  EXPECT_EQ(report.stop, TurnStop::loop);
  EXPECT_EQ(report.responses, 4U);
}

}  // namespace
}  // namespace perdure
