// Turns with calls, over every backend: what is run, what is written, and what a crash leaves.

#include "dispatch/dispatcher.hpp"

#include <gtest/gtest.h>
#include <string>
#include <utility>

#include "contract/backends.hpp"
#include "dispatch/turns_fixture.hpp"
#include "doubles/must.hpp"
#include "perdure/core/error.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/store.hpp"
#include "runtime/api/state_details.hpp"

namespace perdure {
namespace {

using DispatcherTest = TurnsTest;

TEST_P(DispatcherTest, RunsTheCallsOfAResponseInOrder) {
  begin({tool("one"), tool("two")});
  must(session->record_response(asks_for({{"one", "{}"}, {"two", "{}"}})));

  const CallsReport report = must(session->run_calls());

  EXPECT_EQ(report.run, 2U);
  EXPECT_FALSE(report.waiting);
  EXPECT_EQ(result_of(2, 0), "one done");
  EXPECT_EQ(result_of(2, 1), "two done");
  EXPECT_TRUE(session->state().details->open_calls.empty());
}

TEST_P(DispatcherTest, RefusesAToolThereIsNotAndArgumentsThatAreNone) {
  begin({tool("one")});
  must(session->record_response(asks_for({{"other", "{}"}, {"one", "no JSON"}, {"one", "{}"}})));

  const CallsReport report = must(session->run_calls());

  EXPECT_EQ(report.run, 1U);
  EXPECT_EQ(result_of(2, 0), "There is no tool other.");
  EXPECT_EQ(result_of(2, 1), "The arguments are not a JSON object.");
  EXPECT_EQ(result_of(2, 2), "one done");
}

TEST_P(DispatcherTest, SendsAFailureToTheModel) {
  begin({tool("one")});
  behaviour["one"] = [](const CallContext&) { return Failed{"no such account"}; };
  must(session->record_response(asks_for({{"one", "{}"}})));

  must(session->run_calls());

  EXPECT_EQ(result_of(2), "no such account");
  EXPECT_EQ(state_of(first_call()), CallState::failed);
}

TEST_P(DispatcherTest, ParksAnUnsafeCallThatThrew) {
  begin({tool("one")});
  behaviour["one"] = [](const CallContext&) -> ToolOutcome {
    throw std::runtime_error("connection lost");
  };
  must(session->record_response(asks_for({{"one", "{}"}})));

  const CallsReport report = must(session->run_calls());

  ASSERT_TRUE(report.waiting);
  EXPECT_EQ(report.waiting->what, Waiting::For::decision);
  EXPECT_EQ(state_of(first_call()), CallState::in_doubt);
  EXPECT_EQ(session->status(), Status::waiting);
  EXPECT_EQ(runs["one"], 1);
  EXPECT_FALSE(session->record_request({}));
}

TEST_P(DispatcherTest, NeverRunsAnUnsafeCallAgainByItself) {
  begin({tool("one")});
  must(session->record_response(asks_for({{"one", "{}"}})));
  restart();

  auto resumed = must(runtime->resume(id));

  EXPECT_EQ(runs["one"], 0);
  ASSERT_TRUE(resumed.report.calls.waiting);
  EXPECT_EQ(resumed.report.calls.in_doubt, 1U);
  EXPECT_EQ(state_of(first_call()), CallState::in_doubt);
}

TEST_P(DispatcherTest, RetriesAnIdempotentCallUnderTheSameKey) {
  Tool one = tool("one");
  one.honours_key = true;
  begin({one});
  behaviour["one"] = [](const CallContext& call) -> ToolOutcome {
    if (call.attempt == 1) return Doubtful{"connection lost"};
    return Succeeded{"paid"};
  };
  must(session->record_response(asks_for({{"one", "{}"}})));

  const CallsReport report = must(session->run_calls());

  EXPECT_EQ(report.run, 2U);
  EXPECT_EQ(report.retried, 1U);
  EXPECT_EQ(keys["one"].at(0), keys["one"].at(1));
  EXPECT_EQ(result_of(2), "paid");
}

TEST_P(DispatcherTest, VerifiesBeforeItRunsAgain) {
  Tool one = tool("one");
  bool landed = true;
  one.verify = [&](const VerifyContext&) -> Verdict {
    if (landed) return Landed{"paid before"};
    return NotLanded{};
  };
  begin({one});
  must(session->record_response(asks_for({{"one", "{}"}})));
  restart();

  auto resumed = must(runtime->resume(id));

  EXPECT_EQ(runs["one"], 0);
  EXPECT_EQ(resumed.report.calls.verified, 1U);
  EXPECT_EQ(state_of(first_call()), CallState::succeeded);
  session = std::move(resumed.session);
  EXPECT_EQ(result_of(2), "paid before");
}

TEST_P(DispatcherTest, WaitsUntilARequestUnderWayCannotLandAnyMore) {
  Tool one = tool("one", {.network = true, .mutate = true});
  one.verify = [](const VerifyContext&) -> Verdict { return NotLanded{}; };
  begin({one});
  must(session->record_response(asks_for({{"one", "{}"}})));
  restart();

  auto resumed = must(runtime->resume(id));

  ASSERT_TRUE(resumed.report.calls.waiting);
  EXPECT_EQ(resumed.report.calls.waiting->what, Waiting::For::time);
  EXPECT_EQ(runs["one"], 0);
  clock.advance(one.in_flight_max + Duration(1));
  must(runtime->renew());
  const CallsReport later = must(resumed.session.run_calls());
  EXPECT_FALSE(later.waiting);
  EXPECT_EQ(runs["one"], 1);
}

TEST_P(DispatcherTest, ReplaysWhatWasDoneOnceInTheSession) {
  Tool one = tool("one");
  one.repeat = Repeat::once_per_session;
  begin({one});
  must(
      session->record_response(asks_for({{"one", R"({"to":"a"})"}, {"one", R"({ "to" : "a" })"}})));

  const CallsReport report = must(session->run_calls());

  EXPECT_EQ(runs["one"], 1);
  EXPECT_EQ(report.replayed, 1U);
  EXPECT_EQ(result_of(2, 1), "one done");
}

TEST_P(DispatcherTest, RefusesABusinessKeyWithOtherArguments) {
  Tool one = tool("one");
  one.repeat = Repeat::once_per_session;
  one.business_key = "/order";
  begin({one});
  must(session->record_response(
      asks_for({{"one", R"({"order":1,"sum":5})"}, {"one", R"({"order":1,"sum":6})"}})));

  const CallsReport report = must(session->run_calls());

  EXPECT_EQ(runs["one"], 1);
  EXPECT_EQ(report.refused, 1U);
}

TEST_P(DispatcherTest, TellsTheModelIfPolicySaysSoAndBlocksTheTool) {
  begin({tool("one")}, {.on_doubt = OnDoubt::tell_model});
  behaviour["one"] = [](const CallContext&) { return Doubtful{"connection lost"}; };
  must(session->record_response(asks_for({{"one", R"({"n":1})"}})));
  ASSERT_FALSE(must(session->run_calls()).waiting);
  must(session->record_request({}));
  must(session->record_response(asks_for({{"one", R"({"n":2})"}})));

  const CallsReport report = must(session->run_calls());

  EXPECT_EQ(report.refused, 1U);
  EXPECT_EQ(runs["one"], 1);
  EXPECT_EQ(state_of(first_call()), CallState::in_doubt);
}

TEST_P(DispatcherTest, EndsADoubtAsSomebodyDecides) {
  begin({tool("one")});
  must(session->record_response(asks_for({{"one", "{}"}})));
  restart();
  auto resumed = must(runtime->resume(id));
  session = std::move(resumed.session);
  const Position call = first_call();

  must(session->resolve(call, {.as = Decision::As::succeeded,
                               .result = "seen in the bank's list",
                               .who = "ann",
                               .why = "looked"}));

  EXPECT_EQ(must(store->ledger().read(id, call)).who, "ann");
  EXPECT_FALSE(must(session->run_calls()).waiting);
  EXPECT_EQ(session->status(), Status::active);
  EXPECT_EQ(result_of(2), "seen in the bank's list");
}

TEST_P(DispatcherTest, RunsItOnceMoreIfSomebodyDecidesSo) {
  begin({tool("one")});
  must(session->record_response(asks_for({{"one", "{}"}})));
  restart();
  session = must(runtime->resume(id)).session;

  must(session->resolve(first_call(),
                        {.as = Decision::As::retry, .who = "ann", .why = "nothing came"}));
  const CallsReport report = must(session->run_calls());

  EXPECT_EQ(report.retried, 1U);
  EXPECT_EQ(runs["one"], 1);
  EXPECT_EQ(state_of(first_call()), CallState::succeeded);
}

TEST_P(DispatcherTest, ARequestThatWasToFollowAnEarlierResponseIsNotMadeLater) {
  begin({tool("one")});
  behaviour["one"] = [](const CallContext&) { return Doubtful{"connection lost"}; };
  must(session->record_response(asks_for({{"one", "{}"}}), {},
                                {.next_request = RequestSpec{.model = "early"}}));
  must(session->run_calls());
  must(session->resolve(first_call(), {.as = Decision::As::succeeded, .who = "ann"}));
  must(session->run_calls());
  must(session->record_request());

  behaviour.clear();
  must(session->record_response(asks_for({{"one", "{}"}})));
  must(session->run_calls());
  EXPECT_FALSE(session->state().details->request);
  must(session->record_request({.model = "late"}));
  EXPECT_EQ(session->state().details->request->request.model, "late");
}

TEST_P(DispatcherTest, WaitsForApprovalAndUsesItOnce) {
  begin({tool("one")}, {.permit = [](const State&, const ProposedCall&) {
          return PermitDecision::ask("it is a rule");
        }});
  must(session->record_response(asks_for({{"one", "{}"}})));
  const CallsReport asked = must(session->run_calls());
  ASSERT_TRUE(asked.waiting);
  EXPECT_EQ(asked.waiting->what, Waiting::For::approval);
  EXPECT_EQ(runs["one"], 0);

  must(session->approve(first_call(), true, "ann", "fine"));
  const CallsReport report = must(session->run_calls());

  EXPECT_FALSE(report.waiting);
  EXPECT_EQ(runs["one"], 1);
  EXPECT_FALSE(session->approve(first_call(), false, "bob", "too late"));
}

TEST_P(DispatcherTest, KeepsALostResponseAsSpentUnconfirmed) {
  begin({});
  restart();
  session = must(runtime->create({.budget_micros = 1000}));
  id = session->id();
  must(session->record_request({.reserve_micros = 300}, user_says("go")));
  restart();

  auto resumed = must(runtime->resume(id));

  EXPECT_TRUE(resumed.report.lost_a_response);
  EXPECT_EQ(resumed.session.state().budget.totals.unconfirmed, 300);
  EXPECT_FALSE(resumed.session.state().details->request);
}

INSTANTIATE_TEST_SUITE_P(Every, DispatcherTest, testing::ValuesIn(every_backend()),
                         [](const auto& named) { return named.param.name; });

}  // namespace
}  // namespace perdure
