// Calls that policy refuses: told to the model, and never made.

#include <cstddef>
#include <gtest/gtest.h>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "contract/backends.hpp"
#include "dispatch/turns_fixture.hpp"
#include "doubles/must.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"
#include "runtime/api/state_details.hpp"

namespace perdure {
namespace {

class RefusalTest : public TurnsTest {
 protected:
  /// Refuses calls of that tool.
  static Policy refusing(const std::string& tool) {
    Policy policy;
    policy.permit = [tool](const State&, const ProposedCall& call) {
      return call.call().name == tool ? PermitDecision::deny("no " + tool)
                                      : PermitDecision::allow();
    };
    return policy;
  }
};

TEST_P(RefusalTest, IsRecordedWithTheResponseInTheGivenWords) {
  begin({tool("pay"), tool("look", {.read = true})}, refusing("pay"));

  must(session->record_response(asks_for({{"pay", "{}"}, {"look", "{}"}})));
  EXPECT_EQ(state_of(first_call()), CallState::denied);
  must(session->run_calls());

  EXPECT_EQ(runs["pay"], 0);
  EXPECT_EQ(runs["look"], 1);
  EXPECT_EQ(result_of(2, 0), "no pay");
}

TEST_P(RefusalTest, IsAskedAboutToolsThatDoNotExistAndArgumentsThatAreNone) {
  begin({tool("pay")}, refusing("pya"));

  must(session->record_response(asks_for({{"pya", "{"}, {"pay", "{"}})));
  must(session->run_calls());

  EXPECT_EQ(result_of(2, 0), "no pya");
  EXPECT_EQ(result_of(2, 1), "The arguments are not a JSON object.");
}

TEST_P(RefusalTest, ArgumentsThatWereNotWrittenAreNone) {
  begin({tool("pay")});

  must(session->record_response(asks_for({{"pay", ""}, {"pay", " \n"}})));
  must(session->run_calls());

  EXPECT_EQ(runs["pay"], 2);
}

TEST_P(RefusalTest, WhatIsRefusedSinceItWasIntendedIsNotMade) {
  begin({tool("pay"), tool("ship")});
  behaviour["pay"] = [](const CallContext&) -> ToolOutcome { return Doubtful{"line cut"}; };
  must(session->record_response(asks_for({{"pay", "{}"}, {"ship", "{}"}})));
  must(session->run_calls());
  const Position paid = first_call();

  restart(refusing("ship"));
  session = std::move(must(runtime->resume(id)).session);
  must(session->resolve(paid, {.as = Decision::As::failed, .result = "not paid", .who = "ann"}));
  must(session->run_calls());

  EXPECT_EQ(runs["ship"], 0);
  EXPECT_EQ(result_of(2, 1), "no ship");
}

TEST_P(RefusalTest, APersonsNoCountsThoughThePolicyAllowsTheCall) {
  begin({tool("pay"), tool("ship")});
  behaviour["pay"] = [](const CallContext&) -> ToolOutcome { return Doubtful{"line cut"}; };
  must(session->record_response(asks_for({{"pay", "{}"}, {"ship", "{}"}})));
  must(session->run_calls());
  const Position paid = first_call();
  const Position ship = session->state().details->open_calls.rbegin()->first;
  ASSERT_NE(ship, paid);

  must(session->approve(ship, false, "ana", "not today"));
  must(session->resolve(paid, {.as = Decision::As::failed, .result = "not paid", .who = "ann"}));
  must(session->run_calls());

  EXPECT_EQ(runs["ship"], 0);
}

// Narrowed only: what needed approval when it was asked for needs it under any later policy.
TEST_P(RefusalTest, WhatNeededApprovalStillNeedsItUnderALaxerPolicy) {
  Policy asks;
  asks.permit = [](const State&, const ProposedCall&) { return PermitDecision::ask("a rule"); };
  begin({tool("pay")}, asks);
  must(session->record_response(asks_for({{"pay", "{}"}})));

  restart();
  auto resumed = must(runtime->resume(id));

  const OpenCall& open = resumed.session.state().details->open_calls.at(first_call());
  EXPECT_EQ(open.permission, PermitDecision::ask("a rule")) << "recorded with the intent";
  ASSERT_TRUE(resumed.report.calls.waiting);
  EXPECT_EQ(resumed.report.calls.waiting->what, Waiting::For::approval);
  EXPECT_EQ(runs["pay"], 0);
  must(resumed.session.approve(first_call(), true, "ana", "seen"));
  must(resumed.session.run_calls());
  EXPECT_EQ(runs["pay"], 1);
}

TEST_P(RefusalTest, AnApprovalDoesNotOutweighAPolicyThatDeniesSince) {
  Policy asks;
  asks.permit = [](const State&, const ProposedCall&) { return PermitDecision::ask("a rule"); };
  begin({tool("pay")}, asks);
  must(session->record_response(asks_for({{"pay", "{}"}})));
  must(session->run_calls());
  must(session->approve(first_call(), true, "ana", "seen"));

  restart(refusing("pay"));
  must(runtime->resume(id));

  EXPECT_EQ(runs["pay"], 0);
  EXPECT_EQ(state_of(first_call()), CallState::denied);
}

TEST_P(RefusalTest, KnowsWhetherTheResponseIsRecordedAlready) {
  std::vector<Position> asked;
  Policy policy;
  policy.permit = [&](const State& state, const ProposedCall& call) {
    asked.push_back(call.message);
    EXPECT_EQ(call.message == 0, find_message(state, call.message) == nullptr);
    return PermitDecision::allow();
  };
  begin({tool("pay")}, std::move(policy));

  const Position response =
      must(session->record_response(asks_for({{"pay", R"({"n":1})"}, {"pay", R"({"n":2})"}})));
  EXPECT_EQ(asked, (std::vector<Position>{0, 0}));
  must(session->run_calls());
  EXPECT_EQ(asked.back(), response);
}

// What was paid for is recorded, whatever it is: no row of the ledger takes these as they are.
TEST_P(RefusalTest, NamesAndIdsThatAModelMadeUpLoseNoResponse) {
  begin({tool("pay")});

  Message response = asks_for({{"", "{}"},
                               {std::string(5000, 'n'), "{}"},
                               {"a\nb", "{}"},
                               {" pay", "{}"},
                               {"\xed\xa0\x80", "{}"}});
  std::get<ToolCallBlock>(response.blocks.at(3)).id = std::string(10'000, 'i');
  must(session->record_response(response));
  must(session->run_calls());

  EXPECT_EQ(runs["pay"], 0);
  EXPECT_TRUE(session->state().details->open_calls.empty());
}

TEST_P(RefusalTest, LongAndOddWordsOfARefusalAreTold) {
  Policy policy;
  const std::string words = "\x1b[31m" + std::string(10'000, 'w');
  policy.permit = [words](const State&, const ProposedCall&) {
    return PermitDecision::deny(words);
  };
  begin({tool("pay")}, std::move(policy));

  must(session->record_response(asks_for({{"pay", "{}"}})));
  EXPECT_EQ(state_of(first_call()), CallState::denied);
  must(session->run_calls());
  EXPECT_EQ(result_of(2, 0), words);
}

TEST_P(RefusalTest, LongAndOddWordsOfAToolAreRecorded) {
  begin({tool("pay")});
  const std::string words = "\x1b[31mred\xff" + std::string(10'000, 'w');
  behaviour["pay"] = [words](const CallContext&) -> ToolOutcome { return Failed{words}; };
  must(session->record_response(asks_for({{"pay", "{}"}})));
  must(session->run_calls());
  EXPECT_EQ(state_of(first_call()), CallState::failed);
}

TEST_P(RefusalTest, ADecisionInLongWordsDoesNotBlockTheInbox) {
  begin({tool("pay")});
  behaviour["pay"] = [](const CallContext&) -> ToolOutcome { return Doubtful{"line cut"}; };
  must(session->record_response(asks_for({{"pay", "{}"}})));
  must(session->run_calls());

  must(session->resolve(first_call(), {.as = Decision::As::failed,
                                       .result = "not paid",
                                       .who = std::string(1000, 'a'),
                                       .why = std::string(10'000, 'w') + "\x1b"}));
  EXPECT_EQ(state_of(first_call()), CallState::failed);
}

INSTANTIATE_TEST_SUITE_P(Every, RefusalTest, testing::ValuesIn(every_backend()),
                         [](const auto& named) { return named.param.name; });

}  // namespace
}  // namespace perdure
