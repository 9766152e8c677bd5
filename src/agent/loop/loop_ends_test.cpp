// What ends a turn, and how the session goes on from there.

#include <chrono>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stop_token>
#include <string>
#include <variant>
#include <vector>

#include "doubles/must.hpp"
#include "loop/loop_fixture.hpp"
#include "perdure/agent/agent.hpp"
#include "perdure/agent/tools.hpp"
#include "perdure/core/error.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/sessions.hpp"
#include "runtime/api/records.hpp"
#include "runtime/api/state_details.hpp"

namespace perdure {
namespace {

using ::testing::HasSubstr;

class LoopEndsTest : public LoopTest {
 protected:
  /// The texts of what the model is sent, one for each message.
  [[nodiscard]] std::vector<std::string> sent() const {
    std::vector<std::string> texts;
    for (const Message& message : provider_messages(state())) texts.push_back(text_of(message));
    return texts;
  }
};

TEST_F(LoopEndsTest, AtTheLimitOfIterationsItWaitsAndARunBeginsAfresh) {
  script(asking_for({"look"}, 1) + "," + asking_for({"look"}, 2) + "," + asking_for({"look"}, 3) +
         "," + saying("Done."));
  spec.limits.iterations = 3;
  begin();

  EXPECT_EQ(run("look").stop, TurnStop::max_iterations);
  EXPECT_EQ(runs["look"], 3) << "the calls of the last response are made";
  EXPECT_EQ(row().status, Status::waiting);
  EXPECT_THAT(row().wait_reason, HasSubstr("max_iterations"));

  restart();
  EXPECT_EQ(go_on().stop, TurnStop::completed);
}

TEST_F(LoopEndsTest, TheIterationsOfAProcessThatDiedCount) {
  script(asking_for({"look"}, 1) + "," + asking_for({"look"}, 2) + "," + asking_for({"look"}, 3) +
         "," + saying("Done."));
  spec.limits.iterations = 3;
  std::stop_source stop;
  behaviour["look"] = [&](const CallContext&) -> ToolOutcome {
    stop.request_stop();
    return Succeeded{"seen"};
  };
  begin();
  EXPECT_EQ(run("look", stop.get_token()).stop, TurnStop::interrupted);
  behaviour.clear();
  restart();

  const TurnReport report = go_on();

  EXPECT_EQ(report.stop, TurnStop::max_iterations);
  EXPECT_EQ(report.responses, 2U);
}

TEST_F(LoopEndsTest, PastItsTimeItWaits) {
  script(asking_for({"look"}) + "," + saying("Done."));
  spec.limits.time = std::chrono::minutes(1);
  behaviour["look"] = [&](const CallContext&) -> ToolOutcome {
    clock.advance(std::chrono::seconds(61));
    return Succeeded{"seen"};
  };
  begin();

  EXPECT_EQ(run("look").stop, TurnStop::deadline);
  EXPECT_THAT(row().wait_reason, HasSubstr("deadline"));
  EXPECT_FALSE(state().details->request);
  EXPECT_EQ(go_on().stop, TurnStop::completed) << "time begins anew";
}

TEST_F(LoopEndsTest, ARefusalEndsTheTurnAndItsCallsAreNotMade) {
  script(R"({"text": "No.", "stop": "refusal", "calls": [{"name": "pay", "args": {}}]})");
  begin();

  const TurnReport report = run("pay");

  EXPECT_EQ(report.stop, TurnStop::refused);
  EXPECT_EQ(report.answer, "No.");
  EXPECT_TRUE(calls().empty());
  EXPECT_EQ(row().status, Status::waiting) << "a list of sessions says how it ended";
  EXPECT_EQ(row().wait_reason, "refused: refusal");
  EXPECT_EQ(row().tally.turns, 1);
  restart();
  EXPECT_EQ(go_on().stop, TurnStop::refused) << "and is not asked again";
}

TEST_F(LoopEndsTest, APausedResponseIsSentBackAsItIs) {
  script(R"({"text": "Searching", "stop": "paused"},)" + saying("Found."));
  begin();

  const TurnReport report = run("search");

  EXPECT_EQ(report.stop, TurnStop::completed);
  EXPECT_EQ(report.answer, "Found.");
  EXPECT_EQ(sent(), (std::vector<std::string>{"search", "Searching", "Found."}));
  EXPECT_EQ(row().tally.turns, 1);
}

TEST_F(LoopEndsTest, AnAnswerAtItsLimitOfTokensIsAnAnswerCutShort) {
  script(R"({"text": "Once upon", "stop": "length"})");
  begin();

  const TurnReport report = run("a story");

  EXPECT_EQ(report.stop, TurnStop::completed);
  EXPECT_TRUE(report.is_cut_short);
}

TEST_F(LoopEndsTest, AnEndForAReasonOfTheProvidersOwnIsSaid) {
  script(R"({"text": "Once upon", "stop": "other"})");
  begin();

  const TurnReport report = run("a story");

  EXPECT_EQ(report.stop, TurnStop::completed);
  EXPECT_THAT(report.why, HasSubstr("its provider ended it"));
  EXPECT_THAT(row().wait_reason, HasSubstr("its provider ended it"));
  restart();
  EXPECT_EQ(go_on().why, report.why);
}

TEST_F(LoopEndsTest, OfCallsAtTheLimitOfTokensTheLastIsNotMade) {
  script(R"({"stop": "length", "calls": [{"name": "pay", "args": {"n": 1}},
                                         {"name": "pay", "args": {}}]},)" +
         saying("Done."));
  begin();

  EXPECT_EQ(run("pay").stop, TurnStop::completed);

  EXPECT_EQ(runs["pay"], 1);
  EXPECT_THAT(results().at(1), HasSubstr("cut_short"));
}

TEST_F(LoopEndsTest, AResponseThatIsCutOffIsKeptAsPartialAndGoesOn) {
  script(R"({"text": "I will", "reasoning": "hm", "calls": [{"name": "pay", "args": {}}],
             "cut_off": "connection reset"},)" +
         saying("Done."));
  begin();

  EXPECT_EQ(run("pay").stop, TurnStop::completed);

  EXPECT_TRUE(state().transcript[1].message.is_partial);
  EXPECT_TRUE(calls().empty());
  ASSERT_EQ(sent().size(), 4U);
  EXPECT_EQ(sent()[1], "I will[cut off here]");
  EXPECT_THAT(sent()[2], HasSubstr("cut off"));
  EXPECT_TRUE(heard.all<ModelFailed>().at(0).goes_on);
}

TEST_F(LoopEndsTest, AnAnswerInPartsIsOneAnswer) {
  script(saying("First.") + R"(,{"text": "Good ", "cut_off": "reset"},
             {"text": "da", "cut_off": "reset"},)" +
         saying("y."));
  begin();

  EXPECT_EQ(run("one").answer, "First.");
  EXPECT_EQ(run("two").answer, "Good day.");
}

TEST_F(LoopEndsTest, CutOffTooOftenItWaitsAndSaysWhy) {
  const std::string cut = R"({"text": "I", "cut_off": "connection reset"})";
  script(cut + "," + cut + "," + cut + "," + saying("Done."));
  begin();

  const auto report = try_run("go");

  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().message, "connection reset");
  EXPECT_EQ(row().status, Status::waiting);
  EXPECT_THAT(row().wait_reason, HasSubstr("connection reset"));
  restart();
  EXPECT_EQ(go_on().stop, TurnStop::completed);
}

TEST_F(LoopEndsTest, AModelThatDoesNotAnswerIsAnErrorAndTheInputIsKept) {
  script(R"({"text": "Hi.", "fails": [{"code": "invalid_argument", "message": "bad key",
                                       "status": 401}]})");
  begin();

  const auto report = try_run("hello");

  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().message, "bad key");
  EXPECT_THAT(row().wait_reason, HasSubstr("bad key"));
  EXPECT_EQ(go_on().answer, "Hi.");
  EXPECT_EQ(sent(), (std::vector<std::string>{"hello", "Hi."}));
}

TEST_F(LoopEndsTest, AnAnswerWithAnUnfinishedPlanIsRefusedTwice) {
  script(saying("Done.") + "," + saying("Really.") + "," + saying("I give up."));
  begin();
  Plan plan{.objective = "a chair"};
  add_step(plan, "buy wood");
  add_postcondition(plan, "somebody sat on it");
  must(session->session().set(plan));

  const TurnReport report = run("build it");

  const std::string missing =
      "the plan is not finished: step s1 (pending): buy wood; postcondition, not satisfied: "
      "somebody sat on it";
  EXPECT_EQ(report.stop, TurnStop::incomplete_plan);
  EXPECT_EQ(report.why, missing);
  EXPECT_EQ(report.answer, "I give up.");
  ASSERT_EQ(sent().size(), 6U);
  EXPECT_THAT(sent()[2], HasSubstr("buy wood"));
  EXPECT_EQ(row().wait_reason, "incomplete_plan: " + missing);
  EXPECT_EQ(row().tally.turns, 1) << "what was refused was no end of a turn";
  restart();
  const TurnReport again = go_on();
  EXPECT_EQ(again.stop, TurnStop::incomplete_plan);
  EXPECT_EQ(again.why, missing) << "whoever resumes is told as well";
}

TEST_F(LoopEndsTest, AFinishedPlanLetsTheAnswerPass) {
  for (ToolSpec& tool : make_plan_tools()) tools.push_back(std::move(tool));
  script(R"({"calls": [{"name": "plan_create",
                        "args": {"objective": "a chair", "steps": ["buy wood"]}}]},)" +
         saying("Done.") +
         R"(,{"calls": [{"name": "step_update", "args":
              {"step": "s1", "status": "done", "evidence": "bill 7"}}]},)" +
         saying("Now it is."));
  begin();

  const TurnReport report = run("build it");

  EXPECT_EQ(report.stop, TurnStop::completed);
  EXPECT_EQ(report.answer, "Now it is.");
}

TEST_F(LoopEndsTest, AStopBeforeTheResponseCostsNothing) {
  script(saying("Hi."));
  begin(100'000);
  std::stop_source stop;
  heard.on_each = [&](const AgentEvent& event) {
    if (std::holds_alternative<Recorded>(event)) stop.request_stop();
  };

  EXPECT_EQ(run("hello", stop.get_token()).stop, TurnStop::interrupted);

  EXPECT_EQ(state().budget.totals.recorded(), 0);
  EXPECT_EQ(row().status, Status::active) << "whoever finds it goes on";
  heard.on_each = {};
  EXPECT_EQ(go_on().answer, "Hi.");
}

}  // namespace
}  // namespace perdure
