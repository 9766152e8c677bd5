// Attempts of a call: in which order, under which conditions, with whose word.

#include "dispatch/attempts.hpp"

#include <chrono>
#include <future>
#include <gtest/gtest.h>
#include <stop_token>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "contract/backends.hpp"
#include "dispatch/turns_fixture.hpp"
#include "doubles/must.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "runtime/api/state_details.hpp"

namespace perdure {
namespace {

class AttemptsTest : public TurnsTest {
 protected:
  static Policy with_approval() {
    return {.permit = [](const State&, const ProposedCall&) {
      return PermitDecision::ask("it is a rule");
    }};
  }
  std::size_t kept(const std::string& channel, const std::string& kind) {
    std::size_t count = 0;
    for (const Entry& entry : must(store->log().read(id, {.channel = channel}))) {
      count += entry.kind == kind ? 1U : 0U;
    }
    return count;
  }
};

TEST_P(AttemptsTest, AreMadeInTheOrderOfTheCalls) {
  begin({tool("one"), tool("two"), tool("three")});
  std::vector<std::string> order;
  for (const char* name : {"one", "two", "three"}) {
    behaviour[name] = [&order, name](const CallContext&) -> ToolOutcome {
      order.emplace_back(name);
      return Succeeded{};
    };
  }
  must(session->record_response(asks_for({{"two", "{}"}, {"three", "{}"}, {"one", "{}"}})));
  must(session->run_calls());
  EXPECT_EQ(order, (std::vector<std::string>{"two", "three", "one"}));
}

TEST_P(AttemptsTest, AreEachVerifiedBeforeTheNext) {
  Tool pay = tool("pay");
  std::vector<std::int64_t> asked;
  pay.verify = [&](const VerifyContext& call) -> Verdict {
    asked.push_back(call.attempt);
    return NotLanded{};
  };
  begin({pay});
  behaviour["pay"] = [](const CallContext& call) -> ToolOutcome {
    if (call.attempt < 3) return Doubtful{"connection lost"};
    return Succeeded{"paid"};
  };
  must(session->record_response(asks_for({{"pay", "{}"}})));

  EXPECT_FALSE(must(session->run_calls()).waiting);

  EXPECT_EQ(asked, (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(runs["pay"], 3);
}

TEST_P(AttemptsTest, StartNothingOnceTheLeaseMayBeOver) {
  begin({tool("pay")});
  must(session->record_response(asks_for({{"pay", "{}"}})));
  clock.advance(std::chrono::seconds(29));

  const auto refused = session->run_calls();

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::lease_lost);
  EXPECT_EQ(runs["pay"], 0);
}

TEST_P(AttemptsTest, OfAnOwnerThatMayLiveCanStillLand) {
  Tool write = tool("write", {.write = true});
  write.verify = [](const VerifyContext&) -> Verdict { return NotLanded{}; };
  begin({write});
  must(session->record_response(asks_for({{"write", "{}"}})));
  const auto other = must(Runtime::start(*store, {.host = "there",
                                                  .pid = 8,
                                                  .renews_itself = false,
                                                  .tools = must(Tools::of(tools)),
                                                  .clock = &clock,
                                                  .ids = &ids}));
  clock.advance(std::chrono::minutes(1));
  must(other->renew());

  const auto taken = must(other->resume(id));

  ASSERT_TRUE(taken.report.calls.waiting);
  EXPECT_EQ(taken.report.calls.waiting->what, Waiting::For::decision);
  EXPECT_EQ(runs["write"], 0);
}

TEST_P(AttemptsTest, AfterTheFirstAreCoveredByTheSameWord) {
  Tool pay = tool("pay");
  pay.honours_key = true;
  begin({pay}, with_approval());
  behaviour["pay"] = [](const CallContext& call) -> ToolOutcome {
    if (call.attempt == 1) return Doubtful{"connection lost"};
    return Succeeded{"paid"};
  };
  must(session->record_response(asks_for({{"pay", "{}"}})));
  must(session->run_calls());
  must(session->approve(first_call(), true, "ann", "fine"));

  const CallsReport report = must(session->run_calls());

  EXPECT_FALSE(report.waiting);
  EXPECT_EQ(report.run, 2U);
  EXPECT_EQ(kept("approvals", "used"), 1U);
}

TEST_P(AttemptsTest, AreNotCalledBackByAWordThatComesTooLate) {
  begin({tool("pay")});
  behaviour["pay"] = [](const CallContext&) { return Doubtful{"connection lost"}; };
  must(session->record_response(asks_for({{"pay", "{}"}})));
  must(session->run_calls());
  ASSERT_EQ(state_of(first_call()), CallState::in_doubt);

  const auto late = session->approve(first_call(), false, "bob", "stop it");

  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, ErrorCode::conflict);
}

TEST_P(AttemptsTest, AreNotMadeAgainstSomebodysWord) {
  begin({tool("pay")}, with_approval());
  must(session->record_response(asks_for({{"pay", "{}"}})));
  must(session->run_calls());
  must(session->approve(first_call(), false, "ann", "too much"));

  const CallsReport report = must(session->run_calls());

  EXPECT_FALSE(report.waiting);
  EXPECT_EQ(report.refused, 1U);
  EXPECT_EQ(runs["pay"], 0);
  EXPECT_EQ(state_of(first_call()), CallState::denied);
  EXPECT_EQ(result_of(2), "ann did not allow this call: too much");
}

TEST_P(AttemptsTest, OfWhichNobodyKnowsAreToldToTheModelOnce) {
  begin({tool("pay")}, {.on_doubt = OnDoubt::tell_model});
  behaviour["pay"] = [](const CallContext&) { return Doubtful{"connection lost"}; };
  must(session->record_response(asks_for({{"pay", "{}"}})));
  must(session->run_calls());
  must(session->run_calls());
  EXPECT_EQ(session->state().transcript.size(), 3U) << "question, response, result";

  must(session->resolve(first_call(),
                        {.as = Decision::As::succeeded, .result = "seen", .who = "ann"}));

  const auto history = provider_messages(session->state());
  ASSERT_EQ(history.size(), 3U);
  EXPECT_EQ(history[2].blocks.size(), 1U) << "one result for one call";
}

TEST_P(AttemptsTest, ThatAreAboutToBeMadeAreNotDecidedAbout) {
  begin({tool("pay")});
  must(session->record_response(asks_for({{"pay", "{}"}})));

  const auto early =
      session->resolve(first_call(), {.as = Decision::As::failed, .who = "ann", .why = "no"});

  ASSERT_FALSE(early) << "it is dispatched: nothing says that it will not happen";
  EXPECT_EQ(early.error().code, ErrorCode::conflict);
  EXPECT_FALSE(must(session->run_calls()).waiting);
  EXPECT_EQ(state_of(first_call()), CallState::succeeded);
}

// Deciding that it be run again does not bring the tool back.
TEST_P(AttemptsTest, OfAToolThatIsGoneAreNotMadeOnAnybodysWord) {
  begin({tool("pay")});
  must(session->record_response(asks_for({{"pay", "{}"}})));
  tools.clear();
  restart();
  session = must(runtime->resume(id)).session;
  must(session->resolve(first_call(), {.as = Decision::As::retry, .who = "ann", .why = "again"}));

  const CallsReport report = must(session->run_calls());

  ASSERT_TRUE(report.waiting);
  EXPECT_EQ(report.waiting->what, Waiting::For::decision);
}

TEST_P(AttemptsTest, ThatBrokeOffAreInDoubtThoughTheModelWasToldOfAnEarlierOne) {
  const Policy policy{.on_doubt = OnDoubt::tell_model};
  begin({tool("one")}, policy);
  behaviour["one"] = [](const CallContext&) { return Doubtful{"connection lost"}; };
  must(session->record_response(asks_for({{"one", "{}"}})));
  must(session->run_calls());
  must(session->resolve(first_call(), {.as = Decision::As::retry, .who = "ann"}));
  clock.advance(Duration(31'000));
  ASSERT_FALSE(session->run_calls());
  ASSERT_EQ(state_of(first_call()), CallState::dispatched);
  restart(policy);

  auto resumed = must(runtime->resume(id));

  EXPECT_EQ(state_of(first_call()), CallState::in_doubt);
  EXPECT_EQ(runs["one"], 1);
  EXPECT_TRUE(resumed.session.record_request());
}

TEST_P(AttemptsTest, FollowInOrderAlsoAfterReadsThatWereInDoubt) {
  Tool reserve = tool("reserve");
  reserve.verify = [](const VerifyContext&) -> Verdict { return CannotTell{"away"}; };
  begin({tool("look", {.read = true}), tool("fetch", {.read = true}), reserve});
  behaviour["look"] = [](const CallContext& call) -> ToolOutcome {
    if (call.attempt == 1) return Doubtful{"lost"};
    return Succeeded{"seen"};
  };
  behaviour["fetch"] = behaviour["look"];
  behaviour["reserve"] = [](const CallContext&) { return Doubtful{"lost"}; };
  must(session->record_response(asks_for(
      {{"look", "{}"}, {"fetch", "{}"}, {"reserve", R"({"n":1})"}, {"reserve", R"({"n":2})"}})));

  const CallsReport report = must(session->run_calls());

  EXPECT_TRUE(report.waiting);
  EXPECT_EQ(runs["look"], 2);
  EXPECT_EQ(runs["fetch"], 2);
  EXPECT_EQ(runs["reserve"], 1);
}

TEST_P(AttemptsTest, ThatDoNotStopWhenAskedAreInDoubt) {
  Tool slow = tool("pay");
  slow.timeout = std::chrono::hours(1);
  begin({slow}, {.stop_patience = std::chrono::milliseconds(1)});
  std::stop_source stop;
  std::promise<void> goes_on;
  behaviour["pay"] = [&](const CallContext&) -> ToolOutcome {
    stop.request_stop();
    goes_on.get_future().wait();
    return Succeeded{"paid"};
  };
  must(session->record_response(asks_for({{"pay", "{}"}})));

  EXPECT_EQ(must(session->run_calls(stop.get_token())).in_doubt, 1U);

  EXPECT_EQ(state_of(first_call()), CallState::in_doubt);
  EXPECT_EQ(session->state().details->open_calls.begin()->second.doubt,
            "it was asked to stop, and did not");
  goes_on.set_value();
  session.reset();  // Waits for it.
}

INSTANTIATE_TEST_SUITE_P(Every, AttemptsTest, testing::ValuesIn(every_backend()),
                         [](const auto& named) { return named.param.name; });

}  // namespace
}  // namespace perdure
