// Forks and rewinds into the middle of a turn: a call belongs to the session that issued it, and
// what became of it stays known.

#include <gtest/gtest.h>
#include <string>
#include <utility>

#include "contract/backends.hpp"
#include "dispatch/turns_fixture.hpp"
#include "doubles/must.hpp"
#include "perdure/core/error.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "runtime/api/records.hpp"
#include "runtime/api/session.hpp"
#include "runtime/api/state_details.hpp"
#include "session/parts.hpp"
#include "writer/session_writer.hpp"

namespace perdure {
namespace {

class LinesTest : public TurnsTest {
 protected:
  std::string last_result(const Session& of) {
    const auto history = provider_messages(of.state());
    return std::get<ToolResultBlock>(history.back().blocks.back()).content;
  }
};

TEST_P(LinesTest, AForkGoesOnWithoutTheCallThatIsInDoubtInItsParent) {
  begin({tool("pay")});
  must(session->record_response(asks_for({{"pay", "{}"}})));
  restart();
  session = must(runtime->resume(id)).session;
  const auto forked = must(runtime->fork(id, Point::head()));

  Session fork = must(runtime->resume(forked.id)).session;
  const auto asked = fork.record_request({});

  EXPECT_TRUE(asked) << asked.error().message;
  EXPECT_NE(last_result(fork).find("unknown"), std::string::npos) << last_result(fork);
  EXPECT_EQ(runs["pay"], 0);
  EXPECT_EQ(state_of(first_call()), CallState::in_doubt);
  EXPECT_FALSE(session->record_request({})) << "its parent still waits";
}

TEST_P(LinesTest, ADoubtOfItsParentBlocksTheToolInAForkUntilItsParentKnows) {
  begin({tool("pay")});
  must(session->record_response(asks_for({{"pay", "{}"}})));
  restart();
  session = must(runtime->resume(id)).session;
  const auto forked = must(runtime->fork(id, Point::head()));
  Session fork = must(runtime->resume(forked.id)).session;
  must(fork.record_request({}));
  must(fork.record_response(asks_for({{"pay", R"({"to":"ann"})"}})));

  EXPECT_EQ(must(fork.run_calls()).refused, 1U);
  EXPECT_EQ(runs["pay"], 0);

  must(session->resolve(first_call(), {.as = Decision::As::failed, .who = "ann"}));
  must(fork.record_request({}));
  must(fork.record_response(asks_for({{"pay", R"({"to":"ann"})"}})));
  EXPECT_EQ(must(fork.run_calls()).refused, 0U);
  EXPECT_EQ(runs["pay"], 1);
}

TEST_P(LinesTest, ARewindIntoATurnDoesNotForgetWhatItsCallsCameTo) {
  begin({tool("pay"), tool("mail")}, {.cadence = {.at = Cadence::At::call}});
  must(session->record_response(asks_for({{"pay", "{}"}, {"mail", "{}"}})));
  must(session->run_calls());
  const auto versions = must(session->versions());
  ASSERT_EQ(versions.size(), 2U);

  must(session->rewind(Point::version(1)));
  const auto report = session->run_calls();

  ASSERT_TRUE(report) << report.error().message;
  EXPECT_FALSE(report->waiting);
  EXPECT_EQ(runs["pay"], 1);
  EXPECT_EQ(runs["mail"], 1);
  EXPECT_EQ(last_result(*session), "mail done");
  EXPECT_TRUE(session->record_request({}));
}

TEST_P(LinesTest, ARewindToADoubtTellsWhatWasDecidedSince) {
  begin({tool("one")}, {.on_doubt = OnDoubt::tell_model});
  behaviour["one"] = [](const CallContext&) { return Doubtful{"connection lost"}; };
  must(session->record_response(asks_for({{"one", "{}"}})));
  must(session->run_calls());
  const Version doubtful = must(session->checkpoint());
  must(session->resolve(first_call(), {.as = Decision::As::succeeded, .result = "it came"}));

  must(session->rewind(Point::version(doubtful)));
  ASSERT_EQ(session->state().details->open_calls.size(), 1U);
  must(session->run_calls());

  EXPECT_TRUE(session->state().details->open_calls.empty());
  EXPECT_EQ(runs["one"], 1);
}

TEST_P(LinesTest, ARewindGivesNoMoneyBack) {
  begin({});
  session.reset();
  session = must(runtime->create({.budget_micros = 1'000}));
  for (int turn = 0; turn < 3; ++turn) {
    must(session->record_request({.reserve_micros = 250}, user_says("go")));
    must(session->record_response(assistant_says("done"), {.cost_micros = 200}));
  }

  must(session->rewind(Point::version(1)));

  EXPECT_EQ(session->state().transcript.size(), 2U);
  EXPECT_EQ(session->state().budget.totals.spent, 600);
  EXPECT_EQ(session->state().budget.available(), 400);
  must(session->rewind(Point::version(1)));
  EXPECT_EQ(session->state().budget.available(), 400);
}

TEST_P(LinesTest, ARewindDoesNotBringAGrantBackTwice) {
  begin({});
  session.reset();
  session = must(runtime->create({.budget_micros = 2'000}));
  const SessionId parent = session->id();
  const SessionId child_id = must(spawn(*session, {.grant_micros = 400}));
  const Version granted = must(session->checkpoint());
  Session child = must(runtime->open(child_id));
  must(child.record_request({.reserve_micros = 100}, user_says("go")));
  must(child.record_response(assistant_says("done"), {.cost_micros = 100}));
  must(child.finish("done"));
  must(session->take_inbox());
  must(spawn(*session, {.grant_micros = 500}));
  ASSERT_EQ(session->state().budget.available(), 1'400);

  must(session->rewind(Point::version(granted)));
  session.reset();
  session = must(runtime->resume(parent)).session;

  EXPECT_LE(session->state().budget.available(), 1'400);
  EXPECT_EQ(session->state().budget.totals.granted, 500);
}

TEST_P(LinesTest, AForkOfALongSessionListsAllThatItWouldDoAgain) {
  begin({});
  const Position before = session->state().head;
  SessionWriter& writer = session_parts(*session).writer;
  Draft draft = writer.draft();
  for (int i = 0; i < 1'200; ++i) {
    const OpenCall intent{.tool = "pay", .repeat = std::string(to_string(Repeat::each_call))};
    const Position call = draft.add(appending("calls", "intent", to_json(intent)));
    draft.batch.calls.emplace_back(Intend{.call = call, .args = call, .tool = "pay"});
    draft.batch.calls.emplace_back(Dispatch{.call = call});
    draft.batch.calls.emplace_back(Settle{.call = call, .state = CallState::succeeded});
  }
  must(writer.commit(std::move(draft)));
  EXPECT_EQ(must(runtime->fork(id, Point::position(before))).effects_after.size(), 1'200U);
}

INSTANTIATE_TEST_SUITE_P(Every, LinesTest, testing::ValuesIn(every_backend()),
                         [](const auto& named) { return named.param.name; });

}  // namespace
}  // namespace perdure
