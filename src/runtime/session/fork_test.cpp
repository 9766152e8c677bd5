// Forks of a session with calls: what they share, what they are told of, and what is not theirs.

#include <gtest/gtest.h>
#include <string>
#include <utility>

#include "dispatch/turns_fixture.hpp"
#include "doubles/must.hpp"
#include "perdure/core/error.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/point.hpp"

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
  must(session->answer(asks_for({{"look", args}, {"send", args}, {"pay", args}, {"fail", args}})));
  must(session->run_calls());
  const State untouched = session->state();

  const Forked forked = must(runtime->fork(id, Point::position(before)));

  ASSERT_EQ(forked.effects_after.size(), 1U);
  EXPECT_EQ(forked.effects_after.front().tool, "send");
  EXPECT_TRUE(must(runtime->fork(id, Point::head())).effects_after.empty());
  EXPECT_EQ(session->state(), untouched);
  EXPECT_EQ(must(session->state_at(Point::head())), untouched);
}

TEST_P(ForkTest, GetsTheResultOfWhatIsDoneOnceInTheTree) {
  begin({once("pay")});
  const Position before = session->state().head;
  must(session->answer(asks_for({{"pay", args}})));
  must(session->run_calls());

  session = must(runtime->resume(must(runtime->fork(id, Point::position(before))).id)).session;
  must(session->ask());
  must(session->answer(asks_for({{"pay", args}})));

  EXPECT_EQ(must(session->run_calls()).replayed, 1U);
  EXPECT_EQ(runs["pay"], 1);
}

TEST_P(ForkTest, DoesItAgainIfItsEffectsAreFresh) {
  begin({once("pay")});
  const Position before = session->state().head;
  must(session->answer(asks_for({{"pay", args}})));
  must(session->run_calls());

  const Forked forked = must(runtime->fork(id, Point::position(before), {.fresh_effects = true}));
  session = must(runtime->resume(forked.id)).session;
  must(session->ask());
  must(session->answer(asks_for({{"pay", args}})));

  EXPECT_EQ(must(session->run_calls()).run, 1U);
  EXPECT_EQ(runs["pay"], 2);
}

TEST_P(ForkTest, LeavesACallInDoubtToTheSessionThatMadeItAndGoesOn) {
  begin({tool("send")});
  behaviour["send"] = [](const CallContext&) { return Doubtful{"connection lost"}; };
  must(session->answer(asks_for({{"send", args}})));
  const Position call = must(session->run_calls()).waiting->call;

  Session fork = must(runtime->resume(must(runtime->fork(id, Point::head())).id)).session;

  EXPECT_EQ(runs["send"], 1);
  EXPECT_FALSE(fork.resolve(call, {.as = Decision::As::retry}));
  const auto asked = fork.ask({}, user_says("do something else"));
  ASSERT_TRUE(asked) << asked.error().message;
  must(fork.answer(assistant_says("done")));
  EXPECT_TRUE(fork.rewind(Point::version(1)));
  EXPECT_EQ(runs["send"], 1);
  EXPECT_EQ(state_of(call), CallState::in_doubt);
  EXPECT_FALSE(session->ask());
}

INSTANTIATE_TEST_SUITE_P(Every, ForkTest, testing::Values("memory", "sqlite"),
                         [](const auto& named) { return named.param; });

}  // namespace
}  // namespace perdure
