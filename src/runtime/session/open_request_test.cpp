// Requests that end without a response, requests that are written anew, and responses after which
// a turn goes on.

#include <chrono>
#include <gtest/gtest.h>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

#include "contract/backends.hpp"
#include "dispatch/turns_fixture.hpp"
#include "doubles/must.hpp"
#include "doubles/was_stopped.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/sessions.hpp"
#include "runtime/api/records.hpp"
#include "runtime/api/state_details.hpp"
#include "session/parts.hpp"
#include "writer/session_writer.hpp"

namespace perdure {
namespace {

class OpenRequestTest : public TurnsTest {
 protected:
  const BudgetTotals& money() { return session->state().budget.totals; }
};

TEST_P(OpenRequestTest, OneThatMayBePaidCountsAndOneThatWasNotMadeIsFree) {
  begin({tool("pay")});
  must(session->abandon_request("not made", false));
  must(session->set_budget(1'000, "ann", "enough"));

  must(session->record_request({.reserve_micros = 300}));
  must(session->abandon_request("refused", false));
  EXPECT_EQ(money().recorded(), 0);
  EXPECT_FALSE(session->state().details->request);

  must(session->record_request({.reserve_micros = 300}));
  must(session->abandon_request("timed out", true));
  EXPECT_EQ(money().unconfirmed, 300);
  EXPECT_FALSE(session->abandon_request("again", false)) << "none is open";

  restart();
  auto resumed = must(runtime->resume(id));
  EXPECT_FALSE(resumed.report.lost_a_response);
  EXPECT_EQ(resumed.session.state().budget.totals.recorded(), 300);
}

TEST_P(OpenRequestTest, OneThatWasWrittenAheadIsWrittenAnewForMoreOrWithInput) {
  begin({tool("pay")});
  const ResponseExtras extras{.next_request = RequestSpec{.reserve_micros = 100}};
  must(session->record_response(asks_for({{"pay", "{}"}}), {}, extras));
  must(session->run_calls());
  EXPECT_EQ(money().reserved, 100);

  must(session->record_request({.reserve_micros = 250}));
  EXPECT_EQ(money().reserved, 250);
  EXPECT_FALSE(session->record_request({.reserve_micros = 250})) << "it is made already";

  must(session->record_response(asks_for({{"pay", R"({"n":2})"}}), {.cost_micros = 7}, extras));
  must(session->run_calls());
  must(session->record_request({.reserve_micros = 50}, user_says("and hurry")));
  EXPECT_EQ(money().reserved, 50);
  must(session->record_response(assistant_says("done"), {.cost_micros = 5}));
  EXPECT_EQ(money().recorded(), 12);
}

TEST_P(OpenRequestTest, OneThatWasWrittenAheadOfACallThatWasCutOffWasNotMade) {
  begin({tool("look", {.read = true})});
  must(session->record_response(asks_for({{"look", "{}"}}), {.cost_micros = 7},
                                {.next_request = RequestSpec{.reserve_micros = 100}}));
  EXPECT_EQ(money().reserved, 100);

  restart();
  auto resumed = must(runtime->resume(id));

  EXPECT_FALSE(resumed.report.lost_a_response)
      << "the response is there, and the next not asked for";
  EXPECT_EQ(resumed.session.state().budget.totals.recorded(), 7);
  EXPECT_EQ(runs["look"], 1);
}

// Its calls are answered, or not: the log says that it was not sent. But is that all that was written?
TEST_P(OpenRequestTest, OneThatAForgetfulStoreMayHaveSeenSentCounts) {
  begin({tool("look", {.read = true})});
  must(session->record_response(asks_for({{"look", "{}"}}), {.cost_micros = 7},
                                {.next_request = RequestSpec{.reserve_micros = 100}}));
  SessionWriter& writer = session_parts(*session).writer;
  Draft draft = writer.draft();
  Request forgotten = session->state().details->request->request;
  forgotten.loss_token = "of another life";
  draft.add(appending("requests", "request", to_json(forgotten)));
  must(writer.commit(std::move(draft)));

  restart();
  auto resumed = must(runtime->resume(id));

  EXPECT_TRUE(resumed.report.lost_a_response);
  EXPECT_EQ(resumed.session.state().budget.totals.unconfirmed, 100);
  EXPECT_EQ(runs["look"], 1);
}

TEST_P(OpenRequestTest, OneThatWasWrittenAheadOfCallsThatAreAnsweredWasNotMade) {
  begin({tool("pay")});
  must(session->record_response(asks_for({{"pay", "{}"}}), {.cost_micros = 7},
                                {.next_request = RequestSpec{.reserve_micros = 100}}));
  must(session->run_calls());
  EXPECT_EQ(money().reserved, 100);

  restart();
  auto resumed = must(runtime->resume(id));

  EXPECT_FALSE(resumed.report.lost_a_response) << "whoever sends it says so before";
  EXPECT_EQ(resumed.session.state().budget.totals.recorded(), 7);
}

TEST_P(OpenRequestTest, OneThatIsOpenWhereASessionGoesBackToIsNotMadeThere) {
  begin({tool("pay")});
  must(session->record_response(asks_for({{"pay", "{}"}}), {.cost_micros = 7},
                                {.next_request = RequestSpec{.reserve_micros = 100}}));
  must(session->run_calls());
  const Version before = must(session->checkpoint());
  must(session->record_request({.reserve_micros = 60}));
  must(session->record_response(assistant_says("done"), {.cost_micros = 5}));

  must(session->rewind(Point::version(before)));

  EXPECT_FALSE(session->state().details->request);
  EXPECT_EQ(money().recorded(), 12);
  EXPECT_TRUE(session->record_request({.reserve_micros = 60}));
}

TEST_P(OpenRequestTest, OneThatAForkHasOfItsParentWasNotMadeByTheFork) {
  begin({tool("look", {.read = true})});
  must(session->record_response(asks_for({{"look", "{}"}}), {.cost_micros = 7},
                                {.next_request = RequestSpec{.reserve_micros = 100}}));
  must(session->run_calls());
  const auto forked =
      must(runtime->fork(id, Point::position(session->state().details->request->position)));

  auto resumed = must(runtime->resume(forked.id));

  EXPECT_FALSE(resumed.report.lost_a_response);
  EXPECT_EQ(resumed.session.state().budget.totals.recorded(), 7);
  EXPECT_EQ(money().reserved, 100) << "of the parent, which goes on";
}

TEST_P(OpenRequestTest, OneThatWasOnlyWrittenAheadIsGivenUpForNothing) {
  begin({tool("pay")});
  const ResponseExtras extras{.next_request = RequestSpec{.reserve_micros = 100}};
  must(session->record_response(asks_for({{"pay", R"({"n":1})"}}), {.cost_micros = 7}, extras));
  must(session->run_calls());
  must(session->abandon_request("its response was not recorded", true));
  EXPECT_EQ(money().recorded(), 7);

  must(session->record_request({}));
  must(session->record_response(asks_for({{"pay", R"({"n":2})"}}), {}, extras));
  must(session->run_calls());
  must(session->record_request({.reserve_micros = 50}));
  must(session->abandon_request("timed out", true));
  EXPECT_EQ(money().unconfirmed, 50) << "this one was asked, and could cost no more";
}

TEST_P(OpenRequestTest, OneThatWasWrittenAheadIsSentWithWhatItCanCost) {
  begin({tool("look", {.read = true})});
  must(session->record_response(asks_for({{"look", "{}"}}), {.cost_micros = 7},
                                {.next_request = RequestSpec{.reserve_micros = 100}}));
  must(session->run_calls());
  must(session->record_request({.model = "m", .digest = sha256("body"), .reserve_micros = 60}));
  EXPECT_EQ(money().reserved, 60);
  EXPECT_EQ(session->state().details->request->request.digest, sha256("body"));

  restart();
  auto resumed = must(runtime->resume(id));

  EXPECT_TRUE(resumed.report.lost_a_response);
  EXPECT_EQ(resumed.session.state().budget.totals.unconfirmed, 60);
  EXPECT_EQ(resumed.session.state().budget.totals.recorded(), 67);
}

TEST_P(OpenRequestTest, OneThatWasWrittenAheadIsSentForLessBeyondALimitThatWasLowered) {
  begin({tool("pay")});
  must(session->record_response(asks_for({{"pay", "{}"}}), {},
                                {.next_request = RequestSpec{.reserve_micros = 100}}));
  must(session->run_calls());
  must(session->set_budget(50, "ann", "enough"));

  EXPECT_EQ(session->record_request({.reserve_micros = 101}).error().subject, "budget");
  must(session->record_request({.reserve_micros = 60}));

  EXPECT_EQ(money().reserved, 60);
}

TEST_P(OpenRequestTest, WhatNobodyKnowsOfACostStaysUnconfirmed) {
  begin({tool("pay")});
  must(session->abandon_request("not made", false));
  must(session->record_request({.reserve_micros = 100}));

  must(session->record_response(assistant_says("done"),
                                {.cost_micros = 30, .unconfirmed_micros = 50}));

  EXPECT_EQ(money().spent, 30);
  EXPECT_EQ(money().unconfirmed, 50);
  EXPECT_EQ(money().recorded(), 80);
  EXPECT_FALSE(session->state().details->request);
  EXPECT_EQ(must(store->sessions().read(id)).tally.cost_micros, 30);
}

TEST_P(OpenRequestTest, BeyondTheBudgetItIsNotWrittenAnewAndStaysAsItWas) {
  begin({tool("pay")});
  must(session->set_budget(200, "ann", "enough"));
  must(session->record_response(asks_for({{"pay", "{}"}}), {},
                                {.next_request = RequestSpec{.reserve_micros = 100}}));
  must(session->run_calls());

  const auto asked = session->record_request({.reserve_micros = 250});

  ASSERT_FALSE(asked);
  EXPECT_EQ(asked.error().subject, "budget");
  EXPECT_EQ(money().reserved, 100);
  must(session->set_budget(std::nullopt, "ann", "worth it"));
  EXPECT_TRUE(session->record_request({.reserve_micros = 250}));
}

TEST_P(OpenRequestTest, AResponseAfterWhichTheModelIsAskedAgainEndsNoTurn) {
  begin({tool("pay")});
  must(session->record_response(assistant_says("hm"), {}, {.goes_on = true}));
  EXPECT_EQ(must(store->sessions().read(id)).tally.turns, 0);
  EXPECT_TRUE(must(session->versions()).empty());

  must(session->record_request({}));
  must(session->record_response(
      assistant_says("done"), {},
      {.rests = StatusChange{.status = Status::waiting, .wait_reason = "you"}}));
  EXPECT_EQ(must(store->sessions().read(id)).tally.turns, 1);
  EXPECT_EQ(must(store->sessions().read(id)).wait_reason, "you");
}

TEST_P(OpenRequestTest, AStopEndsWhatRunsAndStartsNothingElse) {
  begin({tool("pay")});
  std::stop_source stop;
  behaviour["pay"] = [&](const CallContext& call) -> ToolOutcome {
    stop.request_stop();
    return was_stopped(call.stop) ? ToolOutcome(Failed{"stopped"}) : Succeeded{"paid"};
  };
  must(session->record_response(asks_for({{"pay", R"({"n":1})"}, {"pay", R"({"n":2})"}})));

  must(session->run_calls(stop.get_token()));

  EXPECT_EQ(runs["pay"], 1);
  EXPECT_EQ(state_of(first_call()), CallState::failed);
  EXPECT_EQ(session->state().details->open_calls.size(), 1U);
  behaviour.clear();
  must(session->run_calls());
  EXPECT_EQ(runs["pay"], 2);
}

TEST_P(OpenRequestTest, AStopBeforeTheFirstAttemptMeansThatNothingHappened) {
  begin({tool("pay")});
  must(session->record_response(asks_for({{"pay", "{}"}})));
  std::stop_source stop;
  stop.request_stop();

  must(session->run_calls(stop.get_token()));

  EXPECT_EQ(runs["pay"], 0);
  EXPECT_EQ(state_of(first_call()), CallState::failed);
}

INSTANTIATE_TEST_SUITE_P(Every, OpenRequestTest, testing::ValuesIn(every_backend()),
                         [](const auto& named) { return named.param.name; });

}  // namespace
}  // namespace perdure
