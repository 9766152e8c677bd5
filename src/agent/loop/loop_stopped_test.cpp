// A turn that is stopped in the middle, and what is said and done after.

#include <chrono>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <memory>
#include <stop_token>
#include <string>
#include <variant>

#include "doubles/must.hpp"
#include "doubles/was_stopped.hpp"
#include "loop/history.hpp"
#include "loop/loop_fixture.hpp"
#include "perdure/agent/agent.hpp"
#include "perdure/agent/provider.hpp"
#include "perdure/agent/tools.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"

namespace perdure {
namespace {

using ::testing::HasSubstr;

class LoopStoppedTest : public LoopTest {
 protected:
  /// Two payments are asked for, and the user stops the turn in the first.
  void stop_in_the_first_payment() {
    script(asking_for({"pay", "pay"}, 1) + "," + saying("As you wish."));
    behaviour["pay"] = [this](const CallContext&) -> ToolOutcome {
      stop.request_stop();
      return Succeeded{"paid"};
    };
    begin();
    ASSERT_EQ(run("pay both", stop.get_token()).stop, TurnStop::interrupted);
    ASSERT_EQ(calls().at(1).state, CallState::intended);
    behaviour.clear();
  }

  std::stop_source stop;
};

TEST_F(LoopStoppedTest, WhatTheUserSaysComesBeforeCallsThatWereNotBegun) {
  stop_in_the_first_payment();

  EXPECT_EQ(run("No, don't pay!").stop, TurnStop::completed);

  EXPECT_EQ(runs["pay"], 1);
  EXPECT_EQ(calls().at(1).state, CallState::cancelled);
  EXPECT_THAT(results().at(1), HasSubstr("not started"));
}

TEST_F(LoopStoppedTest, SoItDoesInTheNextProcess) {
  stop_in_the_first_payment();
  restart();

  EXPECT_EQ(run("No, don't pay!").stop, TurnStop::completed);

  EXPECT_EQ(runs["pay"], 1);
}

TEST_F(LoopStoppedTest, WithoutAWordTheyAreMade) {
  stop_in_the_first_payment();
  restart();

  EXPECT_EQ(go_on().stop, TurnStop::completed);

  EXPECT_EQ(runs["pay"], 2);
}

TEST_F(LoopStoppedTest, ACallThatWaitsForAWordGoesOnWaiting) {
  script(asking_for({"pay"}) + "," + saying("Done."));
  spec.permissions.mutate = Permit::ask;
  begin();
  const TurnReport asked = run("pay");
  ASSERT_EQ(asked.stop, TurnStop::waiting);

  EXPECT_EQ(run("well?").stop, TurnStop::waiting);

  must(Mail(*store, *id)
           .approve(mint<MessageTag>(ids), asked.waiting.value().call, true, "ann", "fine"));
  EXPECT_EQ(run("go ahead").stop, TurnStop::completed);
  EXPECT_EQ(runs["pay"], 1);
}

// The response is recorded, its first call dispatched with it, and then the stop is seen.
TEST_F(LoopStoppedTest, ACallThatWasAboutToBeginIsNotInDoubt) {
  script(asking_for({"pay"}) + "," + saying("As you wish."));
  begin();
  heard.on_each = [this](const AgentEvent& event) {
    const bool is_there = std::holds_alternative<Recorded>(event) && !calls().empty();
    if (is_there) stop.request_stop();
  };

  EXPECT_EQ(run("pay", stop.get_token()).stop, TurnStop::interrupted);

  heard.on_each = {};
  EXPECT_EQ(calls().at(0).state, CallState::failed);
  EXPECT_EQ(run("No, don't pay!").stop, TurnStop::completed);
  EXPECT_EQ(runs["pay"], 0);
}

// A model that says nothing until it is stopped.
class Silent final : public Provider {
 public:
  [[nodiscard]] Result<PreparedRequest> prepare(const ModelRequest& /*request*/) override {
    return PreparedRequest{};
  }
  [[nodiscard]] ModelOutcome send(ModelObserver& observer, std::stop_token stop) override {
    observer.on_text("I will");
    EXPECT_TRUE(was_stopped(stop));
    return CutOff{.so_far = {.message = assistant_says("I will")},
                  .error = {ErrorCode::unavailable, "stopped", ""},
                  .was_stopped = true};
  }
};

TEST_F(LoopStoppedTest, ItsTimeEndsAStreamInTheMiddle) {
  spec.limits.time = std::chrono::minutes(1);
  spec.make_provider = [](const perdure::Setup&) -> Result<std::unique_ptr<Provider>> {
    return std::make_unique<Silent>();
  };
  begin();
  heard.on_piece = [this] { clock.advance(std::chrono::seconds(61)); };

  EXPECT_EQ(run("go").stop, TurnStop::deadline);

  EXPECT_TRUE(state().transcript.back().message.is_partial);
  EXPECT_THAT(row().wait_reason, HasSubstr("deadline"));
}

TEST_F(LoopStoppedTest, ItsTimeEndsACallInTheMiddle) {
  script(asking_for({"pay", "pay"}) + "," + saying("Done."));
  spec.limits.time = std::chrono::seconds(10);
  behaviour["pay"] = [this](const CallContext& call) -> ToolOutcome {
    clock.advance(std::chrono::seconds(11));
    EXPECT_TRUE(was_stopped(call.stop));
    return Failed{"stopped"};
  };
  begin();

  EXPECT_EQ(run("go").stop, TurnStop::deadline);

  EXPECT_EQ(calls().at(0).state, CallState::failed);
  EXPECT_EQ(calls().at(1).state, CallState::intended);
  behaviour.clear();
  EXPECT_EQ(go_on().stop, TurnStop::completed) << "time begins anew";
}

TEST_F(LoopStoppedTest, TheTimeOfAProcessBeforeCounts) {
  script(asking_for({"look"}, 1) + "," + asking_for({"look"}, 2) + "," + saying("Done."));
  spec.limits.time = std::chrono::minutes(1);
  behaviour["look"] = [this](const CallContext&) -> ToolOutcome {
    clock.advance(std::chrono::seconds(40));
    stop.request_stop();
    return Succeeded{"seen"};
  };
  begin();
  EXPECT_EQ(run("go", stop.get_token()).stop, TurnStop::interrupted);
  clock.advance(std::chrono::hours(5));  // Nobody runs it.
  restart();

  EXPECT_EQ(go_on().stop, TurnStop::deadline) << "40 seconds, and 40 more";

  EXPECT_EQ(runs["look"], 2);
  EXPECT_EQ(go_on().stop, TurnStop::completed);
}

// It left nothing but its responses: what it says when it is interrupted is taken away.
TEST_F(LoopStoppedTest, TheTimeOfAProcessThatDiedCountsUpToItsLastResponse) {
  script(asking_for({"look"}, 1) + "," + asking_for({"look"}, 2) + "," + saying("Done."));
  spec.limits.time = std::chrono::seconds(15);
  behaviour["look"] = [this](const CallContext&) -> ToolOutcome {
    clock.advance(std::chrono::seconds(10));
    return Succeeded{"seen"};
  };
  begin();
  int begun = 0;
  heard.on_each = [&](const AgentEvent& event) {
    if (std::holds_alternative<CallStarted>(event) && ++begun == 2) stop.request_stop();
  };
  run("go", stop.get_token());
  EXPECT_EQ(loop::time_of(state()), std::chrono::seconds(20));
  must(session->session().set(std::string(loop::time_channel), Body::from_text("{}")));
  heard.on_each = {};
  restart();

  EXPECT_EQ(go_on().stop, TurnStop::completed) << "10 seconds of 15";
  EXPECT_EQ(loop::time_of(state()), std::chrono::seconds(10));
}

TEST_F(LoopStoppedTest, APauseStopsACallThatRuns) {
  script(asking_for({"pay"}) + "," + saying("Done."));
  behaviour["pay"] = [this](const CallContext& call) -> ToolOutcome {
    must(Mail(*store, *id).pause(mint<MessageTag>(ids), "ann", "later"));
    EXPECT_TRUE(was_stopped(call.stop));
    return Failed{"stopped"};
  };
  begin();

  const TurnReport report = run("go");

  EXPECT_EQ(report.stop, TurnStop::interrupted);
  EXPECT_EQ(report.why, "the session is paused");
  EXPECT_EQ(row().status, Status::paused);
}

TEST_F(LoopStoppedTest, ACancellationStopsAStreamAndWhatWasNotBegunIsCancelled) {
  spec.make_provider = [](const perdure::Setup&) -> Result<std::unique_ptr<Provider>> {
    return std::make_unique<Silent>();
  };
  begin();
  heard.on_piece = [this] {
    must(Mail(*store, *id).cancel(mint<MessageTag>(ids), "ann", "enough"));
  };

  EXPECT_EQ(run("go").why, "the session is cancelled");

  EXPECT_TRUE(state().transcript.back().message.is_partial);
  EXPECT_EQ(row().status, Status::cancelled);
}

}  // namespace
}  // namespace perdure
