// What an attempt left running is ended before anybody asks, decides or is told what became of its
// call.

#include <chrono>
#include <future>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "contract/backends.hpp"
#include "dispatch/turns_fixture.hpp"
#include "doubles/must.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"

namespace perdure {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class CallLeftoversTest : public TurnsTest {
 protected:
  /// A tool that says when what it left is ended.
  Tool leaving(const std::string& name) {
    Tool made = tool(name, {.write = true});
    made.end_leftovers = [this](const LeftoverContext& context) -> Result<void> {
      happened.emplace_back("ended");
      ended_keys.push_back(context.key);
      EXPECT_EQ(context.session, id);
      EXPECT_EQ(context.call, first_call());
      if (!cannot_end.empty()) return fail(ErrorCode::unavailable, cannot_end);
      return {};
    };
    return made;
  }
  Tool verifiable(const std::string& name) {
    Tool made = leaving(name);
    made.verify = [this](const VerifyContext&) -> Verdict {
      happened.emplace_back("verified");
      return Landed{"paid before"};
    };
    return made;
  }

  /// A process dies after it dispatched a call of the tool.
  void leave(const Tool& left, const Policy& policy = {}) {
    begin({left}, policy);
    must(session->record_response(asks_for({{left.name, "{}"}})));
    restart(policy);
  }

  CallsReport take_over() {
    auto resumed = must(runtime->resume(id));
    session = std::move(resumed.session);
    return resumed.report.calls;
  }

  std::vector<std::string> happened;
  std::vector<std::string> ended_keys;
  std::string cannot_end;
};

TEST_P(CallLeftoversTest, AreEndedBeforeTheCallIsVerified) {
  leave(verifiable("pay"));

  EXPECT_FALSE(take_over().waiting);

  EXPECT_THAT(happened, ElementsAre("ended", "verified"));
  EXPECT_EQ(state_of(first_call()), CallState::succeeded);
}

TEST_P(CallLeftoversTest, AreEndedBeforeSomebodyIsAskedAboutACallThatNobodyCanVerify) {
  leave(leaving("pay"));

  EXPECT_TRUE(take_over().waiting);

  EXPECT_THAT(happened, ElementsAre("ended"));
  EXPECT_EQ(state_of(first_call()), CallState::in_doubt);
}

// To end them takes its time. What is forbidden meanwhile is not run again.
TEST_P(CallLeftoversTest, AreEndedBeforeItIsReadWhetherTheCallMayRunAgain) {
  bool is_forbidden = false;
  Tool keyed = leaving("pay");
  keyed.side_effects = SideEffects{.network = true, .mutate = true};
  keyed.honours_key = true;
  keyed.end_leftovers = [&](const LeftoverContext&) -> Result<void> {
    is_forbidden = true;
    return {};
  };
  leave(keyed, {.permit = [&](const State&, const ProposedCall&) {
          return is_forbidden ? PermitDecision::deny("not any more") : PermitDecision::allow();
        }});

  const CallsReport report = take_over();

  ASSERT_TRUE(report.waiting);
  EXPECT_THAT(report.waiting->why, HasSubstr("not any more"));
  EXPECT_EQ(runs["pay"], 0);
}

TEST_P(CallLeftoversTest, AreEndedBeforeTheModelIsTold) {
  leave(leaving("pay"), {.on_doubt = OnDoubt::tell_model});

  EXPECT_FALSE(take_over().waiting);

  EXPECT_THAT(happened, ElementsAre("ended"));
}

TEST_P(CallLeftoversTest, AreEndedBeforeADecisionThatLayInTheInboxCounts) {
  leave(leaving("pay"));
  must(Mail(*store, id)
           .resolve(mint<MessageTag>(ids), first_call(),
                    {.as = Decision::As::failed, .result = "nothing came", .who = "ann"}));

  EXPECT_FALSE(take_over().waiting);

  EXPECT_THAT(happened, ElementsAre("ended"));
  EXPECT_EQ(state_of(first_call()), CallState::failed);
}

TEST_P(CallLeftoversTest, OfACallThatIsRunAgainHaveTheKeyOfItsAttempts) {
  Tool pay = leaving("pay");
  pay.honours_key = true;
  leave(pay);

  EXPECT_FALSE(take_over().waiting);

  EXPECT_EQ(ended_keys, keys["pay"]);
}

TEST_P(CallLeftoversTest, ThatCannotBeEndedAreAskedAboutAndNotVerified) {
  cannot_end = "it is in another container";
  leave(verifiable("pay"));

  const CallsReport report = take_over();

  ASSERT_TRUE(report.waiting);
  EXPECT_EQ(report.waiting->what, Waiting::For::decision);
  EXPECT_EQ(report.waiting->why, "something of it may still run: it is in another container");
  EXPECT_THAT(happened, ElementsAre("ended"));
  cannot_end.clear();
  EXPECT_FALSE(must(session->run_calls()).waiting) << "once it can be ended, it is verified";
  EXPECT_EQ(state_of(first_call()), CallState::succeeded);
}

TEST_P(CallLeftoversTest, ThatCannotBeEndedAreOnRecordBesideADecision) {
  cannot_end = "it is in another container";
  leave(leaving("pay"));
  take_over();

  must(session->resolve(first_call(), {.as = Decision::As::failed, .who = "ann"}));

  EXPECT_EQ(state_of(first_call()), CallState::failed);
  std::string evidence;
  for (const Entry& entry : must(store->log().read(id, {.channel = "calls"}))) {
    if (entry.kind == "evidence") evidence += entry.body.bytes();
  }
  EXPECT_THAT(evidence, HasSubstr("something of it may still run: it is in another container"));
}

TEST_P(CallLeftoversTest, OfWhichAToolThrowsMayStillRun) {
  Tool pay = verifiable("pay");
  pay.end_leftovers = [](const LeftoverContext&) -> Result<void> {
    throw std::runtime_error("broken");
  };
  leave(pay);

  const CallsReport report = take_over();

  ASSERT_TRUE(report.waiting);
  EXPECT_EQ(report.waiting->why,
            "something of it may still run: the tool's `end_leftovers` threw: broken");
  EXPECT_TRUE(happened.empty());
}

TEST_P(CallLeftoversTest, AreNotEndedWhileTheAttemptIsOurOwnAndRuns) {
  std::promise<void> gate;
  Tool pay = leaving("pay");
  pay.timeout = Duration(20);
  begin({pay}, {.stop_patience = Duration(1)});
  behaviour["pay"] = [opened = gate.get_future().share()](const CallContext&) -> ToolOutcome {
    opened.wait();
    return Succeeded{"paid"};
  };
  must(session->record_response(asks_for({{"pay", "{}"}})));

  const CallsReport late = must(session->run_calls());
  gate.set_value();

  EXPECT_TRUE(late.waiting);
  EXPECT_TRUE(happened.empty());
}

// Reading takes its time. What comes back meanwhile counts, and is not decided about as a doubt.
TEST_P(CallLeftoversTest, OfAnAttemptThatComesBackWhileItIsLookedAtAreNotInDoubt) {
  std::promise<void> gate;
  std::promise<void> over;
  bool is_late = false;
  Tool pay = leaving("pay");
  pay.timeout = Duration(20);
  begin({pay}, {.permit =
                    [&](const State&, const ProposedCall&) {
                      if (std::exchange(is_late, false)) {
                        gate.set_value();
                        over.get_future().wait();
                      }
                      return PermitDecision::allow();
                    },
                .stop_patience = Duration(1)});
  behaviour["pay"] = [&, opened = gate.get_future().share()](const CallContext&) -> ToolOutcome {
    over.set_value_at_thread_exit();
    opened.wait();
    return Succeeded{"paid"};
  };
  must(session->record_response(asks_for({{"pay", "{}"}})));
  ASSERT_TRUE(must(session->run_calls()).waiting);

  is_late = true;
  const CallsReport report = must(session->run_calls());

  EXPECT_FALSE(is_late);
  EXPECT_FALSE(report.waiting);
  EXPECT_EQ(state_of(first_call()), CallState::succeeded);
}

TEST_P(CallLeftoversTest, AreNotEndedByAnOutdatedOwner) {
  begin({leaving("pay")});
  behaviour["pay"] = [](const CallContext&) { return Doubtful{"connection lost"}; };
  must(session->record_response(asks_for({{"pay", "{}"}})));
  ASSERT_TRUE(must(session->run_calls()).waiting);
  const auto rival = must(Runtime::start(*store, {.host = "there",
                                                  .pid = 8,
                                                  .renews_itself = false,
                                                  .tools = must(Tools::of(tools)),
                                                  .clock = &clock,
                                                  .ids = &ids}));
  clock.advance(std::chrono::seconds(31));
  must(rival->renew());
  const auto taken = must(rival->resume(id));
  happened.clear();

  EXPECT_FALSE(session->run_calls());
  EXPECT_FALSE(session->resolve(first_call(), {.as = Decision::As::failed, .who = "ann"}));

  EXPECT_TRUE(happened.empty()) << "it may be what the new owner runs";
}

TEST_P(CallLeftoversTest, ASessionThatWasClosedEndsNothing) {
  leave(verifiable("pay"));
  session = must(runtime->open(id));
  must(session->close());
  const auto run = session->run_calls();
  ASSERT_FALSE(run);
  EXPECT_EQ(run.error().code, ErrorCode::lease_lost);
  EXPECT_TRUE(happened.empty());
}

INSTANTIATE_TEST_SUITE_P(Every, CallLeftoversTest, testing::ValuesIn(every_backend()),
                         [](const auto& named) { return named.param.name; });

}  // namespace
}  // namespace perdure
