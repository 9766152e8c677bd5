// The fold: every kind of every channel, and what is passed over.

#include "perdure/runtime/state.hpp"

#include <cstdint>
#include <gtest/gtest.h>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "perdure/core/sha256.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "runtime/api/read.hpp"
#include "runtime/api/records.hpp"
#include "runtime/api/state_details.hpp"
#include "state/log_fixture.hpp"

namespace perdure {
namespace {

using enum CallState;

TEST(State, HasTheMessagesByPosition) {
  LogOf log;
  log.say(user_says("Hi"));
  log.add("notes", "n", "1");
  log.say(assistant_says("Hello"));
  const State state = log.state();
  ASSERT_EQ(state.transcript.size(), 2U);
  EXPECT_EQ(state.transcript[1], (PlacedMessage{3, assistant_says("Hello")}));
  EXPECT_EQ(*find_message(state, 1), user_says("Hi"));
  EXPECT_EQ(find_message(state, 2), nullptr);
  EXPECT_EQ(find_message(state, 4), nullptr);
  EXPECT_EQ(state.head, 3U);
}

TEST(State, HasTheLatestOfEachValue) {
  LogOf log;
  for (const std::string text : {"a", "b"}) {
    log.add("setup", "setup", to_json(perdure::Setup{.model = text}), Fold::replace);
    log.add("plan", "plan", to_json(Plan{.objective = text}), Fold::replace);
    log.add("origin", "origin", to_json(Origin{.root = text}), Fold::replace);
    log.add("counters", "counters", to_json(Counters{.values = {{text, 1}}}), Fold::replace);
  }
  const State state = log.state();
  EXPECT_EQ(state.setup->model, "b");
  EXPECT_EQ(state.plan->objective, "b");
  EXPECT_EQ(state.details->origin->root, "b");
  EXPECT_EQ(state.counters, (Counters{.values = {{"b", 1}}}));
  EXPECT_TRUE(state.details->skipped.empty());
}

TEST(State, HasTheBudget) {
  LogOf log;
  Budget budget;
  for (const BudgetEntry& wanted :
       {BudgetEntry{.change = BudgetChange::limit, .micros = 100},
        BudgetEntry{.change = BudgetChange::reserve, .subject = "r", .micros = 30},
        BudgetEntry{.change = BudgetChange::unconfirmed, .subject = "r"},
        BudgetEntry{.change = BudgetChange::grant, .subject = "c", .micros = 20}}) {
    const auto entry = enter(budget, wanted);
    ASSERT_TRUE(entry);
    log.add("budget", std::string(to_string(entry->change)), to_json(*entry));
  }
  EXPECT_EQ(log.state().budget, budget);
  EXPECT_EQ(log.state().budget.available(), 50);
}

TEST(State, KnowsTheBudgetAcrossAnErasedEntry) {
  LogOf log;
  Budget budget;
  for (const std::int64_t micros : {5, 6}) {
    const auto entry = enter(budget, {.change = BudgetChange::spend, .micros = micros});
    log.add("budget", "spend", to_json(*entry));
  }
  log.entries()[0].condition = Condition::erased;
  EXPECT_EQ(log.state().budget.totals.spent, 11);
}

TEST(State, WaitsForAnAnswerUntilItIsThere) {
  const auto asked = [](const auto& then) {
    LogOf log;
    log.add("budget", "reserve", R"({"subject":"r","micros":3})");
    log.add("requests", "request", to_json(Request{.reservation = "r", .model = "m"}));
    then(log);
    return log.state().details->request;
  };
  const auto open = asked([](LogOf& log) { log.say(user_says("Are you there?")); });
  ASSERT_TRUE(open);
  EXPECT_EQ(open->position, 2U);
  EXPECT_EQ(open->request.model, "m");
  EXPECT_TRUE(asked([](LogOf& log) { log.add("budget", "spend", R"({"micros":1})"); }));
  EXPECT_FALSE(asked([](LogOf& log) { log.say(assistant_says("Yes.")); }));
  for (const std::string kind : {"spend", "unconfirmed", "release"}) {
    EXPECT_FALSE(asked([&](LogOf& log) {
      log.add("budget", kind, R"({"subject":"r","micros":1})");
    })) << kind;
  }
}

TEST(State, HasACallOpenFromItsIntentToItsOutcome) {
  LogOf log;
  const Position message = log.ask({"c1", "c2"});
  const Position first = log.intend(message, 1);
  const Position second = log.intend(message, 2);
  const State asked = log.state();
  ASSERT_EQ(asked.details->open_calls.size(), 2U);
  const OpenCall& call = asked.details->open_calls.at(first);
  EXPECT_EQ(call.message, message);
  EXPECT_EQ(call.tool, "pay");
  EXPECT_EQ(args_of(asked, call), "{}");
  EXPECT_FALSE(call.args) << "no second copy of what the message has";

  log.answer("c1", first, succeeded);
  EXPECT_FALSE(log.state().details->open_calls.contains(first));
  EXPECT_TRUE(log.state().details->open_calls.contains(second));
}

TEST(State, OnlyAFinalOutcomeEndsACall) {
  for (const CallState outcome :
       {intended, dispatched, succeeded, failed, in_doubt, abandoned, denied, cancelled}) {
    LogOf log;
    const Position call = log.intend(log.ask({"c"}), 1);
    log.answer("c", call, outcome);
    EXPECT_EQ(log.state().details->open_calls.empty(), (Outcome{.state = outcome}.is_final()));
  }
}

TEST(State, AResultOfAMessageThatWasCutOffEndsNoCall) {
  LogOf log;
  const Position call = log.intend(log.ask({"c"}), 1);
  ToolResultBlock result{.call_id = "c"};
  set_outcome(result, {.call = call, .state = succeeded});
  Message message;
  message.is_partial = true;
  message.blocks.emplace_back(result);
  log.say(message);
  EXPECT_TRUE(log.state().details->open_calls.contains(call));
}

TEST(State, KnowsWhichCallsAreInDoubt) {
  LogOf log;
  const Position call = log.intend(log.ask({"c"}), 1);
  log.add("calls", "doubt", to_json(Doubt{.call = call, .why = "timed out"}));
  log.add("calls", "evidence", to_json(Evidence{.call = call, .text = "no reply"}));
  EXPECT_EQ(log.state().details->open_calls.at(call).doubt, "timed out");
  log.add("calls", "resolution", to_json(Resolution{.call = call, .decision = "retry"}));
  EXPECT_FALSE(log.state().details->open_calls.at(call).doubt);
  EXPECT_TRUE(log.state().details->skipped.empty());
}

TEST(State, FindsArgumentsThatNoMessageHas) {
  LogOf log;
  const Position call = log.add("calls", "intent", to_json(OpenCall{.args = "[ 1 ]", .tool = "t"}));
  const Position lost = log.add("calls", "intent", to_json(OpenCall{.message = 99, .tool = "t"}));
  const State state = log.state();
  EXPECT_EQ(args_of(state, state.details->open_calls.at(call)), "[ 1 ]");
  EXPECT_FALSE(args_of(state, state.details->open_calls.at(lost)));
}

TEST(State, HasApprovals) {
  LogOf log;
  const Position call = log.add("calls", "intent", to_json(OpenCall{.args = "{}", .tool = "t"}));
  const Approval approval{.call = call, .args_digest = sha256("{}"), .who = "Ada"};
  log.add("approvals", "asked", to_json(approval));
  log.add("approvals", "given", to_json(approval));
  log.add("approvals", "used", to_json(approval));
  const Position again = log.add("approvals", "used", to_json(approval));
  const State state = log.state();
  ASSERT_NE(state.details->approvals.find(call, sha256("{}")), nullptr);
  EXPECT_EQ(state.details->approvals.find(call, sha256("{}"))->decision, ApprovalDecision::used);
  EXPECT_EQ(state.details->skipped,
            (std::vector<Skipped>{{again, "approvals", SkipReason::refused}}));
}

TEST(State, HasNoApprovalThatCameBeforeItsCall) {
  LogOf log;
  log.add("approvals", "given", to_json(Approval{.call = 2, .args_digest = sha256("{}")}));
  log.add("calls", "intent", to_json(OpenCall{.args = "{}", .tool = "t"}));
  const State state = log.state();
  EXPECT_TRUE(state.details->approvals.empty());
  EXPECT_EQ(state.details->skipped, (std::vector<Skipped>{{1, "approvals", SkipReason::refused}}));
}

TEST(State, HasTheScratchpad) {
  LogOf log;
  log.add("scratchpad", "set", to_json(ScratchEntry{.key = "a", .value = "1"}));
  log.add("scratchpad", "set", to_json(ScratchEntry{.key = "b", .value = "2"}));
  log.add("scratchpad", "blob", "");
  log.entries().back().body = Body::from_blob({.digest = sha256("x"), .size = 1});
  log.add("scratchpad", "delete", to_json(ScratchEntry{.key = "a"}));
  EXPECT_EQ(log.state().scratchpad.values, (Scratchpad{.values = {{"b", "2"}}}.values));
  EXPECT_TRUE(log.state().details->skipped.empty());
}

TEST(State, KeepsChannelsOfTheUserAsTheyAre) {
  LogOf log;
  log.add("notes", "n", "old");
  log.add("notes", "n", "[1]", Fold::replace);
  log.add("notes", "m", "\xFF");
  log.add("inbox", "anything", "at all");
  const State state = log.state();
  EXPECT_EQ(state.channels.at("notes"),
            (std::vector<ChannelItem>{{2, "n", Body::from_text("[1]")},
                                      {3, "m", Body::from_text("\xFF")}}));
  EXPECT_EQ(state.channels.size(), 1U);
  EXPECT_TRUE(state.details->skipped.empty());
  EXPECT_FALSE(is_reserved("notes"));
  EXPECT_TRUE(is_reserved("inbox"));
}

TEST(State, AReplaceEntryEmptiesAList) {
  LogOf log;
  log.say(user_says("long ago"));
  log.add("transcript", "message", to_json(user_says("in short")), Fold::replace);
  log.say(user_says("now"));
  ASSERT_EQ(log.state().transcript.size(), 2U);
  EXPECT_EQ(log.state().transcript[0].position, 2U);
  log.add("scratchpad", "set", to_json(ScratchEntry{.key = "a", .value = "1"}));
  log.add("scratchpad", "set", to_json(ScratchEntry{.key = "b", .value = "2"}), Fold::replace);
  EXPECT_EQ(log.state().scratchpad.values.size(), 1U);
}

TEST(State, CountsTheTotalsOfAllEntries) {
  LogOf log;
  log.say(user_says("Hi"));
  log.add("plan", "poem", "{}");
  log.entries()[0].tally = {.turns = 1, .steps = 2};
  log.entries()[1].tally = {.steps = 3, .cost_micros = 4};
  EXPECT_EQ(log.state().totals, (Tally{.turns = 1, .steps = 5, .cost_micros = 4}));
}

TEST(State, PassesOverWhatItCannotReadAndSaysSo) {
  LogOf log;
  log.add("plan", "plan", to_json(Plan{.objective = "kept"}), Fold::replace);
  for (int i = 0; i < 3; ++i) {
    log.add("plan", "plan", to_json(Plan{.objective = "lost"}), Fold::replace);
  }
  log.entries()[1].condition = Condition::erased;
  log.entries()[2].condition = Condition::damaged;
  log.entries()[3].body = Body::from_blob({});
  log.add("plan", "poem", "{}");
  log.add("plan", "plan", R"({"v":2,"objective":"newer"})");
  log.add("plan", "plan", "{");
  log.add("budget", "release", R"({"subject":"never reserved"})");
  const State state = log.state();
  EXPECT_EQ(state.plan->objective, "kept");
  using enum SkipReason;
  EXPECT_EQ(state.details->skipped, (std::vector<Skipped>{{2, "plan", erased},
                                                          {3, "plan", damaged},
                                                          {4, "plan", blob},
                                                          {5, "plan", other_kind},
                                                          {6, "plan", newer},
                                                          {7, "plan", unreadable},
                                                          {8, "budget", refused}}));
}

TEST(State, KnowsTheAgentThatItWentOnWith) {
  LogOf log;
  log.add("origin", "origin", to_json(Origin{.root = "r", .agent_digest = "first"}));
  log.add("origin", "agent", to_json(AgentChange{.agent_digest = "second", .parts = {"tools"}}));
  EXPECT_EQ(log.state().details->origin, (Origin{.root = "r", .agent_digest = "second"}));
  LogOf homeless;
  homeless.add("origin", "agent", to_json(AgentChange{.agent_digest = "second"}));
  EXPECT_EQ(homeless.state().details->skipped,
            (std::vector<Skipped>{{1, "origin", SkipReason::refused}}));
}

TEST(State, PassesOverOddEntriesOfEveryChannel) {
  const std::vector<std::pair<std::string, std::string>> kinds = {
      {"transcript", "message"}, {"setup", "setup"},       {"plan", "plan"},
      {"budget", "spend"},       {"counters", "counters"}, {"requests", "request"},
      {"calls", "intent"},       {"calls", "doubt"},       {"calls", "evidence"},
      {"calls", "resolution"},   {"approvals", "given"},   {"scratchpad", "set"},
      {"scratchpad", "delete"},  {"origin", "origin"},     {"origin", "agent"}};
  for (const auto& [channel, kind] : kinds) {
    LogOf log;
    log.add(channel, kind, "[]");
    log.add(channel, "verse", "{}");
    log.add(channel, kind, R"({"v":2})", Fold::replace);
    State expected;
    expected.head = 3;
    expected.entries = 3;
    expected.details->skipped = {{1, channel, SkipReason::unreadable},
                                 {2, channel, SkipReason::other_kind},
                                 {3, channel, SkipReason::newer}};
    EXPECT_EQ(log.state(), expected) << channel << ' ' << kind;
  }
}

TEST(State, IsAValue) {
  LogOf log;
  log.say(user_says("Hi"));
  log.add("notes", "n", "1");
  const State first = log.state();
  State second = first;
  EXPECT_EQ(second, first);
  log.say(assistant_says("Hello"));
  fold(second, log.entries().back());
  EXPECT_NE(second, first);
  EXPECT_EQ(first.transcript.size(), 1U);
  EXPECT_EQ(second, log.state());
}

}  // namespace
}  // namespace perdure
