// The loop: from an input to an answer, and what happens to calls on the way.

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mutex>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <variant>
#include <vector>

#include "doubles/must.hpp"
#include "doubles/was_stopped.hpp"
#include "loop/loop_fixture.hpp"
#include "perdure/agent/agent.hpp"
#include "perdure/agent/tools.hpp"
#include "perdure/core/id.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/sessions.hpp"
#include "runtime/api/state_details.hpp"

namespace perdure {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST_F(LoopTest, AnswersAndWaitsForTheNextMessage) {
  script(saying("Hello.") + "," + saying("Again."));
  begin();

  const TurnReport report = run("hi");

  EXPECT_EQ(report.stop, TurnStop::completed);
  EXPECT_EQ(report.answer, "Hello.");
  EXPECT_EQ(report.responses, 1U);
  EXPECT_EQ(row().status, Status::waiting);
  EXPECT_EQ(row().wait_reason, "the next message");
  EXPECT_EQ(run("and?").answer, "Again.");
  EXPECT_EQ(row().tally.turns, 2);
}

TEST_F(LoopTest, WithoutInputARestingSessionIsOnlyReported) {
  script(saying("Hello."));
  begin();
  run("hi");
  const Position head = state().head;

  restart();
  const TurnReport report = go_on();

  EXPECT_EQ(report.stop, TurnStop::completed);
  EXPECT_EQ(report.answer, "Hello.");
  EXPECT_EQ(report.responses, 0U);
  EXPECT_EQ(state().head, head);
}

TEST_F(LoopTest, MakesCallsUntilTheModelAnswers) {
  script(asking_for({"look", "pay"}) + "," + asking_for({"pay"}, 3) + "," + saying("Paid."));
  begin();

  const TurnReport report = run("pay");

  EXPECT_EQ(report.answer, "Paid.");
  EXPECT_EQ(runs["pay"], 2);
  EXPECT_THAT(results(), ElementsAre("look done", "pay done", "pay done"));
}

TEST_F(LoopTest, AToolThatDoesNotExistIsAResultAndNotTheEnd) {
  script(asking_for({"lok"}) + "," + saying("I see."));
  begin();

  EXPECT_EQ(run("look").stop, TurnStop::completed);

  ASSERT_EQ(results().size(), 1U);
  EXPECT_THAT(results()[0], HasSubstr(R"("did_you_mean":"look")"));
  EXPECT_EQ(calls().at(0).state, CallState::denied);
  EXPECT_EQ(calls().at(0).attempts, 0);
}

TEST_F(LoopTest, ArgumentsThatCannotBeReadOrDoNotFitAreResults) {
  script(R"({"calls": [{"name": "pay", "args": "{\"n\": "}, {"name": "pay", "args": {"n": "x"}},
                       {"name": "pay", "args": {"n": 1}}]},)" +
         saying("Sorry."));
  begin();

  EXPECT_EQ(run("pay").stop, TurnStop::completed);

  ASSERT_EQ(results().size(), 3U);
  EXPECT_THAT(results()[0], HasSubstr("arguments_not_json"));
  EXPECT_THAT(results()[1], HasSubstr("invalid_arguments"));
  EXPECT_EQ(runs["pay"], 1);
}

TEST_F(LoopTest, TheThirdIdenticalCallInARowIsRefusedAlsoAfterAResume) {
  script(asking_for({"pay"}) + "," + asking_for({"pay"}) + "," + asking_for({"pay"}) + "," +
         saying("I stop."));
  spec.limits.iterations = 2;
  begin();
  EXPECT_EQ(run("pay").stop, TurnStop::max_iterations);
  restart();

  EXPECT_EQ(go_on().stop, TurnStop::completed);

  EXPECT_EQ(runs["pay"], 2);
  EXPECT_THAT(results().at(2), HasSubstr(R"("error":"loop")"));
}

TEST_F(LoopTest, WhatIsForbiddenIsRefusedAndWhatIsAskedAboutWaits) {
  script(asking_for({"look", "pay"}) + "," + saying("Done."));
  spec.permissions.read = Permit::deny;
  spec.permissions.mutate = Permit::ask;
  begin();

  const TurnReport report = run("pay");

  EXPECT_EQ(report.stop, TurnStop::waiting);
  ASSERT_TRUE(report.waiting);
  EXPECT_EQ(runs["look"] + runs["pay"], 0);
  EXPECT_FALSE(state().details->request) << "what was written ahead is withdrawn";

  must(Mail(*store, *id).approve(mint<MessageTag>(ids), report.waiting->call, true, "ann", "ok"));
  restart();
  EXPECT_EQ(go_on().stop, TurnStop::completed);
  EXPECT_EQ(runs["pay"], 1);
  EXPECT_THAT(results().at(0), HasSubstr("not_permitted"));
}

TEST_F(LoopTest, WhatIsForbiddenSinceIsNotMadeAfterAResume) {
  script(asking_for({"pay", "look"}) + "," + saying("Done."));
  std::stop_source stop;
  behaviour["pay"] = [&](const CallContext&) -> ToolOutcome {
    stop.request_stop();
    return Succeeded{"paid"};
  };
  begin();
  EXPECT_EQ(run("go", stop.get_token()).stop, TurnStop::interrupted);
  spec.permissions.read = Permit::deny;
  restart();

  EXPECT_EQ(go_on().stop, TurnStop::completed);

  EXPECT_EQ(runs["look"], 0);
  EXPECT_THAT(results().at(1), HasSubstr("not_permitted"));
}

TEST_F(LoopTest, AStopEndsTheTurnBetweenCallsAndNothingIsRunTwice) {
  script(asking_for({"pay", "pay"}) + "," + saying("Done."));
  std::stop_source stop;
  bool was_asked_to_stop = false;
  behaviour["pay"] = [&](const CallContext& call) -> ToolOutcome {
    stop.request_stop();
    was_asked_to_stop = was_stopped(call.stop);
    return Succeeded{"paid"};
  };
  begin();

  EXPECT_EQ(run("go", stop.get_token()).stop, TurnStop::interrupted);
  EXPECT_TRUE(was_asked_to_stop);
  EXPECT_EQ(runs["pay"], 1);
  EXPECT_EQ(calls().at(0).state, CallState::succeeded);
  EXPECT_EQ(calls().at(1).state, CallState::intended);

  behaviour.clear();
  restart();
  EXPECT_EQ(go_on().stop, TurnStop::completed);
  EXPECT_EQ(runs["pay"], 2);
}

TEST_F(LoopTest, ACallInDoubtNeedsAttentionAndTheInputWaitsWithIt) {
  script(asking_for({"pay"}) + "," + saying("Good."));
  behaviour["pay"] = [](const CallContext&) -> ToolOutcome { return Doubtful{"line cut"}; };
  begin();
  const TurnReport report = run("pay");
  EXPECT_EQ(report.stop, TurnStop::needs_attention);

  EXPECT_EQ(run("and hurry").stop, TurnStop::needs_attention);
  EXPECT_EQ(text_of(state().transcript.back().message), "and hurry");

  must(session->session().resolve(report.waiting.value().call,
                                  {.as = Decision::As::succeeded, .result = "paid", .who = "ann"}));
  EXPECT_EQ(go_on().stop, TurnStop::completed);
  EXPECT_EQ(runs["pay"], 1);
}

TEST_F(LoopTest, ReadsRunAtTheSameTime) {
  script(asking_for({"look", "look"}) + "," + saying("Seen."));
  std::mutex mutex;
  std::condition_variable both;
  int inside = 0;
  behaviour["look"] = [&](const CallContext&) -> ToolOutcome {
    std::unique_lock lock(mutex);
    ++inside;
    both.notify_all();
    const bool met = both.wait_for(lock, std::chrono::minutes(5), [&] { return inside == 2; });
    return Succeeded{met ? "met" : "alone"};
  };
  begin();

  run("look twice");

  EXPECT_THAT(results(), ElementsAre("met", "met"));
}

TEST_F(LoopTest, AMessageThatArrivesMeanwhileIsInTheNextRequest) {
  script(asking_for({"pay"}) + "," + saying("Understood."));
  behaviour["pay"] = [&](const CallContext&) -> ToolOutcome {
    must(Mail(*store, *id).say(mint<MessageTag>(ids), user_says("in euros")));
    return Succeeded{"paid"};
  };
  begin();

  EXPECT_EQ(run("pay").stop, TurnStop::completed);

  ASSERT_EQ(state().transcript.size(), 5U);
  EXPECT_EQ(text_of(state().transcript[3].message), "in euros");
  EXPECT_EQ(text_of(state().transcript[4].message), "Understood.");
}

TEST_F(LoopTest, PauseAndCancelAreObeyedBetweenSteps) {
  script(asking_for({"pay"}) + "," + saying("Done."));
  behaviour["pay"] = [&](const CallContext&) -> ToolOutcome {
    must(Mail(*store, *id).pause(mint<MessageTag>(ids), "ann", "lunch"));
    return Succeeded{"paid"};
  };
  begin();

  EXPECT_EQ(run("pay").stop, TurnStop::interrupted);
  EXPECT_EQ(row().status, Status::paused);
  EXPECT_EQ(state().budget.totals.recorded(), 15) << "nothing stays reserved";

  restart();
  EXPECT_EQ(go_on().stop, TurnStop::completed) << "to run it is to say that it goes on";

  must(Mail(*store, *id).cancel(mint<MessageTag>(ids), "ann", "enough"));
  EXPECT_EQ(run("more").stop, TurnStop::interrupted);
  EXPECT_EQ(row().status, Status::cancelled);
  EXPECT_FALSE(try_run("more")) << "it has ended";
}

TEST_F(LoopTest, TheObserverHearsOfEverythingInItsOrder) {
  script(asking_for({"pay", "nothing"}) + "," + saying("Paid."));
  begin();
  std::vector<std::string> order;
  heard.on_piece = [&] { order.emplace_back("text"); };
  heard.on_each = [&](const AgentEvent& event) {
    if (std::holds_alternative<Recorded>(event)) order.emplace_back("recorded");
    if (const auto* call = std::get_if<CallStarted>(&event))
      order.push_back(call->tool + " starts");
    if (const auto* call = std::get_if<CallReturned>(&event)) {
      order.push_back(call->tool + " returned");
    }
    if (const auto* told = std::get_if<CallTold>(&event)) {
      order.push_back("told " + std::string(to_string(told->state)));
    }
    if (const auto* end = std::get_if<TurnEnded>(&event)) order.emplace_back(to_string(end->stop));
  };

  run("pay");

  EXPECT_THAT(
      order, ElementsAre("recorded", "told denied", "recorded", "pay starts", "pay returned",
                         "told succeeded", "recorded", "recorded", "text", "recorded", "completed"))
      << "the request that was written ahead is recorded once more when it is sent";
  EXPECT_EQ(heard.all<Recorded>().back().head, state().head);
}

TEST_F(LoopTest, AnObserverThatThrowsChangesNothing) {
  script(asking_for({"pay"}) + "," + saying("Paid."));
  begin();
  heard.on_each = [](const AgentEvent&) { throw std::runtime_error("no room"); };
  heard.on_piece = [] { throw std::runtime_error("no room"); };

  EXPECT_EQ(run("pay").stop, TurnStop::completed);

  EXPECT_EQ(calls().at(0).state, CallState::succeeded);
}

TEST_F(LoopTest, AnObserverMayBeLambdasWhichAreToldTheSame) {
  script(asking_for({"look"}) + "," + saying("Seen."));
  behaviour["look"] = [](const CallContext& call) -> ToolOutcome {
    call.progress("half");
    return Succeeded{};
  };
  begin();
  std::string text;
  std::vector<std::string> asked;
  std::vector<std::string> lines;
  std::size_t events = 0;

  const TurnReport report = must(session->run(
      user_says("look"),
      {.on_text = [&](std::string_view piece) { text += piece; },
       .on_call = [&](const ToolCallBlock& call) { asked.push_back(call.name); },
       .on_event = [&](const AgentEvent&) { ++events; },
       .on_progress = [&](const CallProgress& told) { lines.emplace_back(told.line); }}));

  EXPECT_EQ(report.stop, TurnStop::completed);
  EXPECT_EQ(text, "Seen.");
  EXPECT_EQ(asked, std::vector<std::string>{"look"});
  EXPECT_EQ(lines, std::vector<std::string>{"half"});
  EXPECT_GT(events, 0U);
}

TEST_F(LoopTest, ATurnMayRunUnwatched) {
  script(asking_for({"pay"}) + "," + saying("Paid.") + "," + saying("Fine."));
  begin();
  EXPECT_EQ(must(session->run(user_says("pay"))).answer, "Paid.");
  EXPECT_EQ(must(session->run()).stop, TurnStop::completed) << "nothing is left to do";
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(must(session->run(user_says("more"), {}, stop.get_token())).stop,
            TurnStop::interrupted);
}

TEST_F(LoopTest, LambdasThatThrowChangeNothing) {
  script(asking_for({"pay"}) + "," + saying("Paid."));
  begin();
  const TurnReport report = must(
      session->run(user_says("pay"),
                   {.on_text = [](std::string_view) { throw std::runtime_error("no room"); },
                    .on_event = [](const AgentEvent&) { throw std::runtime_error("no room"); }}));
  EXPECT_EQ(report.stop, TurnStop::completed);
  EXPECT_EQ(calls().at(0).state, CallState::succeeded);
}

TEST_F(LoopTest, SessionsDoNotWaitForEachOthersObservers) {
  script(saying("One."));
  begin();
  AgentSession other = must(agent->begin());
  Listener others;
  bool has_run = false;
  heard.on_each = [&](const AgentEvent& event) {
    if (has_run || !std::holds_alternative<Recorded>(event)) return;
    has_run = true;
    std::jthread([&] { must(other.run(user_says("hi"), others)); }).join();
  };

  EXPECT_EQ(run("hello").stop, TurnStop::completed);

  EXPECT_EQ(others.text, "One.");
}

TEST_F(LoopTest, ANudgeOfTheLoopDoesNotHideThatItRunsInCircles) {
  script(asking_for({"pay"}) + R"(,{"text": "I", "cut_off": "reset"},)" + asking_for({"pay"}) +
         R"(,{"text": "I", "cut_off": "reset"},)" + asking_for({"pay"}) + "," + saying("Done."));
  begin();

  EXPECT_EQ(run("go").stop, TurnStop::completed);

  EXPECT_EQ(runs["pay"], 2);
  EXPECT_THAT(results().back(), HasSubstr("loop"));
}

}  // namespace
}  // namespace perdure
