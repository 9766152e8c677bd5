// Tools over the session itself, through real turns: what they answer, and that it is in the
// commit of their outcome.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "contract/backends.hpp"
#include "dispatch/turns_fixture.hpp"
#include "doubles/must.hpp"
#include "perdure/agent/tools.hpp"
#include "perdure/core/json.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "runtime/api/records.hpp"
#include "runtime/api/session.hpp"

namespace perdure {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::vector<Tool> all_tools() {
  std::vector<Tool> tools;
  for (const auto& list : {make_plan_tools(), make_note_tools(), {make_ask_tool()}}) {
    for (const ToolSpec& spec : list) tools.push_back(spec.tool);
  }
  return tools;
}

Policy asking() {
  Policy policy;
  policy.permit = [](const State&, const ProposedCall& call) {
    return call.call().name == "ask_user" ? PermitDecision::ask("it is a question")
                                          : PermitDecision::allow();
  };
  return policy;
}

class SessionToolsTest : public TurnsTest {
 protected:
  /// What the model is told of the last of these calls.
  std::string turn(const std::vector<std::pair<std::string, std::string>>& calls) {
    must(session->record_response(asks_for(calls)));
    must(session->run_calls());
    std::string last = last_result();
    must(session->record_request());
    return last;
  }
  std::string last_result() {
    const auto& blocks = session->state().transcript.back().message.blocks;
    const auto* result = std::get_if<ToolResultBlock>(&blocks.back());
    return result == nullptr ? "none" : (result->is_error ? "error: " : "") + result->content;
  }
};

constexpr const char* two_steps =
    R"({"objective": "ship", "steps": ["build", "test"], "postconditions": ["green"]})";

TEST_P(SessionToolsTest, APlanIsDoneWithEvidenceOnly) {
  begin(all_tools());
  EXPECT_EQ(turn({{"plan_show", "{}"}}), "There is no plan.");
  EXPECT_EQ(turn({{"plan_create", two_steps}}),
            "objective: ship\ns1 [pending] build\ns2 [pending] test\npostcondition 1 [open] "
            "green\nnot finished");
  EXPECT_THAT(turn({{"step_update", R"({"step": "s1", "status": "done"})"}}),
              StartsWith("error: "));
  EXPECT_EQ(session->state().plan->steps[0].status, StepStatus::pending);
  EXPECT_THAT(
      turn({{"step_update", R"({"step": "s1", "status": "done", "evidence": "it compiles"})"},
            {"step_update", R"({"step": "s2", "status": "blocked", "notes": "no network"})"}}),
      HasSubstr("s1 [done] build (evidence: it compiles)\ns2 [blocked] test (notes: no network)"));
  EXPECT_THAT(turn({{"postcondition_verify", R"({"number": 2, "evidence": "x"})"}}),
              StartsWith("error: "));
  EXPECT_THAT(turn({{"postcondition_verify", R"({"number": 1, "evidence": "ran"})"}}),
              HasSubstr("\nfinished"));
  EXPECT_TRUE(session->state().plan->is_ready_to_finish());
}

TEST_P(SessionToolsTest, AnUnfinishedPlanIsReplacedWithAReasonOnly) {
  begin(all_tools());
  turn({{"plan_create", two_steps}});
  EXPECT_THAT(turn({{"plan_create", R"({"objective": "b", "steps": ["x"]})"}}),
              StartsWith("error: There is a plan"));
  EXPECT_EQ(session->state().plan->objective, "ship");
  EXPECT_THAT(turn({{"plan_create", R"({"objective": "b", "steps": ["x"], "reason": "wrong"})"}}),
              StartsWith("objective: b"));
}

TEST_P(SessionToolsTest, NotesAreKept) {
  begin(all_tools());
  EXPECT_EQ(turn({{"note_write", R"({"key": "a", "text": "one"})"},
                  {"note_write", R"({"key": "b", "text": "two"})"}}),
            "noted: 3 bytes as b");
  EXPECT_EQ(turn({{"note_list", "{}"}}), "a\nb\n");
  EXPECT_EQ(turn({{"note_read", R"({"key": "a"})"}}), "one");
  EXPECT_EQ(must(session->find_scratch("b")), "two");
  EXPECT_EQ(turn({{"note_delete", R"({"key": "a"})"}}), "deleted: a");
  EXPECT_THAT(turn({{"note_read", R"({"key": "a"})"}}), StartsWith("error: "));
  const std::string large(scratch_inline_bytes_max + 1, 'x');
  EXPECT_THAT(turn({{"note_write", R"({"key": "c", "text": ")" + large + "\"}"}}),
              StartsWith("error: A note has"));
}

TEST_P(SessionToolsTest, WhatWasDispatchedIsDoneOnceAfterADeath) {
  begin(all_tools());
  must(session->record_response(
      asks_for({{"plan_create", two_steps}, {"note_write", R"({"key": "a", "text": "one"})"}})));
  restart();
  auto resumed = must(runtime->resume(id));
  session = std::move(resumed.session);
  EXPECT_EQ(session->state().plan->steps.size(), 2U);
  EXPECT_EQ(must(session->find_scratch("a")), "one");
  for (const auto& call : must(store->ledger().list({.session = id}))) {
    EXPECT_EQ(call.state, CallState::succeeded);
    EXPECT_EQ(call.effect, EffectClass::idempotent);
  }
}

TEST_P(SessionToolsTest, AChangeIsInTheCommitOfItsOutcome) {
  begin(all_tools());
  must(session->record_response(asks_for({{"plan_create", two_steps}})));
  must(session->run_calls());
  const auto entries = must(store->log().read(id, {}));
  const auto plan = std::ranges::find(entries, "plan", &Entry::channel);
  ASSERT_NE(plan, entries.end());
  EXPECT_EQ(std::next(plan)->channel, "transcript") << "the result follows it";
  EXPECT_EQ(std::next(plan)->position, plan->position + 1);
}

TEST_P(SessionToolsTest, AQuestionWaitsForItsAnswerAcrossProcesses) {
  begin(all_tools(), asking());
  must(session->record_response(asks_for({{"ask_user", R"({"question": "Which colour?"})"}})));
  const auto report = must(session->run_calls());
  ASSERT_TRUE(report.waiting);
  EXPECT_EQ(report.waiting->what, Waiting::For::approval);
  const Position call = report.waiting->call;
  restart(asking());
  auto resumed = must(runtime->resume(id));
  session = std::move(resumed.session);
  ASSERT_TRUE(resumed.report.calls.waiting);
  must(session->approve(call, true, "ann", "blue"));
  must(session->run_calls());
  EXPECT_EQ(last_result(), "ann: blue");
}

TEST_P(SessionToolsTest, ARefusalIsAnAnswerToo) {
  begin(all_tools(), asking());
  must(session->record_response(asks_for({{"ask_user", R"({"question": "Which colour?"})"}})));
  const auto report = must(session->run_calls());
  must(session->approve(report.waiting->call, false, "ann", "decide yourself"));
  must(session->run_calls());
  EXPECT_THAT(last_result(), HasSubstr("decide yourself"));
}

TEST_P(SessionToolsTest, AnAnswerThatThrowsChangesNothing) {
  Tool tool{.name = "t"};
  tool.answer = answered_by([](const State&, Position, const Json&) -> SessionAnswer {
    throw std::runtime_error("broken");
  });
  begin({tool});
  EXPECT_EQ(turn({{"t", "{}"}}),
            "error: This could not be answered: the tool's `answer` threw: broken");
}

INSTANTIATE_TEST_SUITE_P(Every, SessionToolsTest, testing::ValuesIn(every_backend()),
                         [](const auto& named) { return named.param.name; });

TEST(SessionToolSpecs, PassTheirChecks) {
  std::vector<ToolSpec> specs = make_plan_tools();
  for (ToolSpec& spec : make_note_tools()) specs.push_back(std::move(spec));
  specs.push_back(make_ask_tool());
  const auto box = must(Toolbox::of(specs));
  const auto check = [&](const std::string& name, const std::string& args) {
    return check_call(box, {}, {.name = name, .args = args}, 1);
  };
  EXPECT_EQ(check("plan_create", two_steps).permit, Permit::allow);
  EXPECT_EQ(check("note_write", R"({"key": "a", "text": ""})").permit, Permit::allow);
  EXPECT_EQ(check("note_write", R"({"key": "../a", "text": ""})").permit, Permit::deny);
  EXPECT_EQ(check("plan_create", R"({"objective": "x", "steps": []})").permit, Permit::deny);
  EXPECT_EQ(check("ask_user", R"({"question": "?"})").permit, Permit::ask);
}

}  // namespace
}  // namespace perdure
