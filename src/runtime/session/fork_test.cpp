// Going back in a session with calls: what a fork shares, what it is told of, what is not its own;
// and what a rewind does not undo.

#include <gtest/gtest.h>
#include <string>
#include <utility>

#include "contract/backends.hpp"
#include "dispatch/turns_fixture.hpp"
#include "doubles/must.hpp"
#include "perdure/core/error.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/log.hpp"
#include "runtime/api/records.hpp"
#include "runtime/api/session.hpp"
#include "runtime/api/state_details.hpp"

namespace perdure {
namespace {

class ForkTest : public TurnsTest {
 protected:
  static constexpr const char* args = R"({"to":"ann"})";

  Tool once(std::string name) {
    Tool made = tool(std::move(name));
    made.repeat = Repeat::once_per_session;
    return made;
  }
};

TEST_P(ForkTest, IsToldOfEffectsAfterThePointThatItWouldMakeAgain) {
  begin({tool("look", {.read = true}), tool("send"), once("pay"), tool("fail")});
  behaviour["fail"] = [](const CallContext&) { return Failed{"no such account"}; };
  const Position before = session->state().head;
  must(session->record_response(
      asks_for({{"look", args}, {"send", args}, {"pay", args}, {"fail", args}})));
  must(session->run_calls());
  const State untouched = session->state();

  const Forked forked = must(runtime->fork(id, Point::position(before)));

  ASSERT_EQ(forked.effects_after.size(), 1U);
  EXPECT_EQ(forked.effects_after.front().tool, "send");
  EXPECT_TRUE(must(runtime->fork(id, Point::head())).effects_after.empty());
  EXPECT_EQ(session->state(), untouched);
  EXPECT_EQ(must(session->state_at(Point::head())), untouched);
}

TEST_P(ForkTest, MakesACallThatWasIntendedBeforeThePointAndMadeAfterIt) {
  begin({tool("one"), tool("two")}, {.cadence = {.at = Cadence::At::call}});
  must(session->record_response(asks_for({{"one", args}, {"two", args}})));
  must(session->run_calls());

  const Forked forked = must(runtime->fork(id, Point::version(1)));

  ASSERT_EQ(calls_of(forked).size(), 1U);
  EXPECT_EQ(calls_of(forked).front().call.tool, "two");
  EXPECT_TRUE(forked.effects_after.empty());
}

TEST_P(ForkTest, OfAForkMakesWhatIsOpenInBoth) {
  begin({tool("one"), tool("two")}, {.cadence = {.at = Cadence::At::call}});
  must(session->record_response(asks_for({{"one", args}, {"two", args}})));
  must(session->run_calls());
  must(session->record_request({}, user_says("and again")));
  must(session->record_response(asks_for({{"one", args}})));
  must(session->run_calls());
  const SessionId fork = must(runtime->fork(id, Point::version(1))).id;

  const Forked forked = must(runtime->fork(fork, Point::head()));

  ASSERT_EQ(calls_of(forked).size(), 1U);
  EXPECT_EQ(calls_of(forked).front().call.tool, "two");
  EXPECT_EQ(calls_of(forked).front().call.session, fork);
  EXPECT_TRUE(forked.effects_after.empty());
}

TEST_P(ForkTest, IsToldOfTheLastOfManyEffects) {
  begin({});
  constexpr int many = 1001;
  Batch batch{.id = mint<BatchTag>(ids), .expected_head = session->state().head};
  const std::string intent = to_json(OpenCall{.tool = "send", .repeat = "each_call"});
  for (Position call = batch.expected_head + 1; call <= batch.expected_head + many; ++call) {
    batch.entries.push_back(
        {.channel = "calls", .kind = "intent", .body = Body::from_text(intent)});
    batch.calls.emplace_back(Intend{.call = call, .args = call, .tool = "send"});
    batch.calls.emplace_back(Dispatch{.call = call});
  }
  must(store->commit(session->lease(), batch));

  const Forked forked = must(runtime->fork(id, Point::position(batch.expected_head)));

  EXPECT_EQ(forked.effects_after.size(), std::size_t{many});
}

TEST_P(ForkTest, GetsTheResultOfWhatIsDoneOnceInTheTree) {
  begin({once("pay")});
  const Position before = session->state().head;
  must(session->record_response(asks_for({{"pay", args}})));
  must(session->run_calls());

  session = must(runtime->resume(must(runtime->fork(id, Point::position(before))).id)).session;
  must(session->record_request());
  must(session->record_response(asks_for({{"pay", args}})));

  EXPECT_EQ(must(session->run_calls()).replayed, 1U);
  EXPECT_EQ(runs["pay"], 1);
}

TEST_P(ForkTest, DoesItAgainIfItsEffectsAreFresh) {
  begin({once("pay")});
  const Position before = session->state().head;
  must(session->record_response(asks_for({{"pay", args}})));
  must(session->run_calls());

  const Forked forked = must(runtime->fork(id, Point::position(before), {.fresh_effects = true}));
  session = must(runtime->resume(forked.id)).session;
  must(session->record_request());
  must(session->record_response(asks_for({{"pay", args}})));

  EXPECT_EQ(must(session->run_calls()).run, 1U);
  EXPECT_EQ(runs["pay"], 2);
}

TEST_P(ForkTest, LeavesACallInDoubtToTheSessionThatMadeItAndGoesOn) {
  begin({tool("send")});
  behaviour["send"] = [](const CallContext&) { return Doubtful{"connection lost"}; };
  must(session->record_response(asks_for({{"send", args}})));
  const Position call = must(session->run_calls()).waiting->call;

  Session fork = must(runtime->resume(must(runtime->fork(id, Point::head())).id)).session;

  EXPECT_EQ(runs["send"], 1);
  EXPECT_FALSE(fork.resolve(call, {.as = Decision::As::retry}));
  const auto asked = fork.record_request({}, user_says("do something else"));
  ASSERT_TRUE(asked) << asked.error().message;
  must(fork.record_response(assistant_says("done")));
  EXPECT_TRUE(fork.rewind(Point::version(1)));
  EXPECT_EQ(runs["send"], 1);
  EXPECT_EQ(state_of(call), CallState::in_doubt);
  EXPECT_FALSE(session->record_request());
}

TEST_P(ForkTest, ARewindIntoATurnTellsWhatItsCallsCameToSince) {
  begin({tool("one"), tool("two")}, {.cadence = {.at = Cadence::At::call}});
  must(session->record_response(asks_for({{"one", args}, {"two", args}})));
  must(session->run_calls());
  must(session->record_request());
  must(session->record_response(assistant_says("done")));

  must(session->rewind(Point::version(1)));  // After the first call; the second had begun.
  ASSERT_EQ(session->state().details->open_calls.size(), 1U);
  const CallsReport report = must(session->run_calls());

  EXPECT_EQ(report.replayed, 1U);
  EXPECT_EQ(report.run, 0U);
  EXPECT_EQ(runs["two"], 1);
  EXPECT_EQ(result_of(2, 1), "two done");
  EXPECT_TRUE(session->record_request({}, user_says("go on")));
}

INSTANTIATE_TEST_SUITE_P(Every, ForkTest, testing::ValuesIn(every_backend()),
                         [](const auto& named) { return named.param.name; });

}  // namespace
}  // namespace perdure
