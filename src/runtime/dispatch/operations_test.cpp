// Which operation a call is, across calls, sessions and forks: who may do it again, and under
// which key of the vendor's.

#include <gtest/gtest.h>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "contract/backends.hpp"
#include "dispatch/turns_fixture.hpp"
#include "doubles/must.hpp"
#include "perdure/core/error.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "runtime/api/state_details.hpp"

namespace perdure {
namespace {

class OperationTest : public TurnsTest {
 protected:
  Tool once(const std::string& name) {
    Tool made = tool(name);
    made.repeat = Repeat::once_per_session;
    return made;
  }
  CallsReport next(Session& where, const Message& response) {
    if (!where.state().details->request) must(where.record_request({}));
    must(where.record_response(response));
    return must(where.run_calls());
  }
};

TEST_P(OperationTest, GetsAnotherKeyOfTheVendorOnlyAfterAFailure) {
  begin({once("pay")});
  behaviour["pay"] = [this](const CallContext&) -> ToolOutcome {
    if (runs["pay"] < 3) return Failed{"no funds"};
    return Succeeded{"paid"};
  };
  for (int turn = 0; turn < 3; ++turn) next(*session, asks_for({{"pay", "{}"}}));

  ASSERT_EQ(keys["pay"].size(), 3U);
  EXPECT_EQ(keys["pay"][1], keys["pay"][0] + "-1");
  EXPECT_EQ(keys["pay"][2], keys["pay"][0] + "-2");
  EXPECT_EQ(next(*session, asks_for({{"pay", "{}"}})).replayed, 1U);
}

TEST_P(OperationTest, ThatWasGivenUpIsNotBegunAgain) {
  begin({once("pay")});
  behaviour["pay"] = [](const CallContext&) { return Doubtful{"connection lost"}; };
  next(*session, asks_for({{"pay", "{}"}}));
  must(session->resolve(first_call(),
                        {.as = Decision::As::abandoned, .who = "ann", .why = "no time"}));
  EXPECT_EQ(state_of(first_call()), CallState::abandoned);

  const CallsReport report = next(*session, asks_for({{"pay", "{}"}}));

  EXPECT_EQ(report.refused, 1U);
  EXPECT_EQ(report.replayed, 0U);
  EXPECT_EQ(runs["pay"], 1);
  EXPECT_NE(result_of(4).find("may have taken effect"), std::string::npos) << result_of(4);
}

TEST_P(OperationTest, IsAnotherOneInAnotherSession) {
  begin({once("pay")});
  next(*session, asks_for({{"pay", "{}"}}));
  Session other = must(runtime->create());
  EXPECT_EQ(next(other, asks_for({{"pay", "{}"}})).replayed, 0U);
  EXPECT_EQ(runs["pay"], 2);
}

TEST_P(OperationTest, IsTheSameInAForkUnlessItsEffectsAreFresh) {
  begin({once("pay")});
  next(*session, asks_for({{"pay", "{}"}}));
  const auto forked = must(runtime->fork(id, Point::head()));
  const auto fresh = must(runtime->fork(id, Point::head(), {.fresh_effects = true}));

  Session fork = must(runtime->open(forked.id));
  EXPECT_EQ(next(fork, asks_for({{"pay", "{}"}})).replayed, 1U);
  EXPECT_EQ(runs["pay"], 1);
  Session other = must(runtime->open(fresh.id));
  EXPECT_EQ(next(other, asks_for({{"pay", "{}"}})).replayed, 0U);
  EXPECT_EQ(runs["pay"], 2);
}

TEST_P(OperationTest, ThatAForkWouldDoAgainIsListedFirst) {
  begin({once("pay"), tool("mail"), tool("look", {.read = true})});
  const Position before = session->state().head;
  next(*session, asks_for({{"look", "{}"}, {"pay", "{}"}, {"mail", "{}"}}));

  const auto forked = must(runtime->fork(id, Point::position(before)));

  ASSERT_EQ(forked.effects_after.size(), 1U);
  EXPECT_EQ(forked.effects_after[0].tool, "mail");
  EXPECT_TRUE(must(runtime->fork(id, Point::head())).effects_after.empty());
}

TEST_P(OperationTest, OfALargeResultIsReplayedWhole) {
  begin({once("pay")});
  const std::string large(3U << 20U, 'x');
  behaviour["pay"] = [&](const CallContext&) { return Succeeded{large}; };
  next(*session, asks_for({{"pay", "{}"}}));
  EXPECT_EQ(next(*session, asks_for({{"pay", "{}"}})).replayed, 1U);
  EXPECT_EQ(result_of(4), large);
}

// Some providers give every call of a message the same id.
TEST_P(OperationTest, IsToldFromItsTwinsByItsPlaceNotByTheProvidersId) {
  Tool pay = once("pay");
  pay.business_key = "/order";
  begin({pay});
  Message response{.role = Role::assistant};
  for (const char* args : {R"({"order":1})", R"({"order":2})", R"({"order":2})"}) {
    response.blocks.emplace_back(ToolCallBlock{.id = "call_0", .name = "pay", .args = args});
  }

  const CallsReport report = next(*session, response);

  EXPECT_EQ(report.replayed, 1U);
  EXPECT_EQ(report.refused, 0U);
  EXPECT_EQ(runs["pay"], 2);
}

TEST_P(OperationTest, IsWhatItWasWhenItWasIntendedWhateverItsToolSaysNow) {
  begin({once("pay")});
  must(session->set_status({.status = Status::paused}));
  must(session->record_response(asks_for({{"pay", "{}"}, {"pay", "{}"}})));
  must(session->set_status({.status = Status::active}));
  tools = {tool("pay")};
  restart();

  const auto resumed = must(runtime->resume(id));

  EXPECT_EQ(resumed.report.calls.replayed, 1U);
  EXPECT_EQ(runs["pay"], 1);
}

TEST_P(OperationTest, InDoubtBlocksOnlyItsArgumentsIfTheToolSaysSo) {
  Tool pay = tool("pay");
  pay.blocking = Blocking::same_arguments;
  begin({pay}, {.on_doubt = OnDoubt::tell_model});
  behaviour["pay"] = [](const CallContext& call) -> ToolOutcome {
    if (call.args.text() == R"({"to":"ann"})") return Doubtful{"connection lost"};
    return Succeeded{"paid"};
  };
  next(*session, asks_for({{"pay", R"({"to":"ann"})"}}));

  EXPECT_EQ(next(*session, asks_for({{"pay", R"({"to":"bob"})"}})).refused, 0U);
  EXPECT_EQ(next(*session, asks_for({{"pay", R"({"to":"ann"})"}})).refused, 1U);
  EXPECT_EQ(runs["pay"], 2);
}

TEST_P(OperationTest, ThatIsReadTwiceInOneResponseIsReadOnce) {
  Tool read = tool("read", {.read = true});
  read.repeat = Repeat::once_per_session;
  begin({std::move(read)});
  must(session->record_response(asks_for({{"read", "{}"}, {"read", "{}"}})));

  const CallsReport report = must(session->run_calls());

  EXPECT_EQ(report.replayed, 1U);
  EXPECT_EQ(runs["read"], 1);
}

INSTANTIATE_TEST_SUITE_P(Every, OperationTest, testing::ValuesIn(every_backend()),
                         [](const auto& named) { return named.param.name; });

}  // namespace
}  // namespace perdure
