// A fork in the middle of a turn: the calls that are open at its point become its own, or its model is
// told of them, and what it says is true.

#include <gtest/gtest.h>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "contract/backends.hpp"
#include "dispatch/turns_fixture.hpp"
#include "doubles/must.hpp"
#include "perdure/core/error.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/upkeep.hpp"
#include "runtime/api/records.hpp"
#include "runtime/api/session.hpp"
#include "runtime/api/state_details.hpp"

namespace perdure {
namespace {

class ForkCallsTest : public TurnsTest {
 protected:
  static constexpr const char* args = R"({"to":"ann"})";
  const Policy asks{.permit = [](const State&, const ProposedCall&) {
    return PermitDecision::ask("it is a rule");
  }};

  // What every test leaves behind is sound, and no model was told what is not so.
  void TearDown() override {
    EXPECT_TRUE(must(store->upkeep().check()).is_sound());
    for (const SessionSummary& row : must(store->sessions().list({})).sessions) {
      for (const Message& message : provider_messages(must(read_state(*store, row.id, {})))) {
        EXPECT_EQ(to_json(message).find("process stopped"), std::string::npos);
      }
    }
  }

  Tool once(std::string name, Repeat repeat = Repeat::once_per_session) {
    Tool made = tool(std::move(name));
    made.repeat = repeat;
    return made;
  }

  // The response, and with it the intents; where its entry is.
  Position respond(const std::vector<std::pair<std::string, std::string>>& calls) {
    return must(session->record_response(asks_for(calls)));
  }

  Forked fork_at(Point at, const ForkSpec& spec = {}) { return must(runtime->fork(id, at, spec)); }

  Call call_in(const Forked& forked, std::size_t at = 0) {
    return must(store->ledger().read(forked.id, calls_of(forked).at(at).position));
  }

  static std::vector<std::string> results_in(const State& state) {
    std::vector<std::string> results;
    for (const Message& message : provider_messages(state)) {
      for (const Block& block : message.blocks) {
        if (const auto* result = std::get_if<ToolResultBlock>(&block)) {
          results.push_back(result->content);
        }
      }
    }
    return results;
  }

  // The call is dispatched and its process gone; the next one knows of nothing.
  void leave_dispatched(const std::vector<std::pair<std::string, std::string>>& calls) {
    respond(calls);
    restart();
  }

  using Results = std::vector<std::string>;
};

TEST_P(ForkCallsTest, ACallThatCameToAnEndAfterThePointIsMadeByTheForkAsItsOwn) {
  begin({tool("send")});
  const Position response = respond({{"send", args}});
  must(session->run_calls());

  const Forked forked = fork_at(Point::position(response));

  ASSERT_EQ(calls_of(forked).size(), 1U);
  EXPECT_EQ(calls_of(forked)[0].as, Carried::runs);
  EXPECT_EQ(calls_of(forked)[0].call, must(store->ledger().read(id, first_call())));
  EXPECT_EQ(call_in(forked).state, CallState::intended);
  EXPECT_TRUE(forked.effects_after.empty()) << "it is listed once";
  Session fork = must(runtime->resume(forked.id)).session;
  EXPECT_EQ(runs["send"], 2);
  EXPECT_NE(keys["send"][0], keys["send"][1]) << "another operation";
  EXPECT_EQ(call_in(forked).state, CallState::succeeded);
  EXPECT_EQ(results_in(fork.state()), Results{"send done"});
  EXPECT_TRUE(fork.record_request());
}

TEST_P(ForkCallsTest, WhatItWillDoFirstIsForeseenAndNothingIsDone) {
  begin({tool("look", {.read = true}), tool("send"), once("pay")});
  const Position response = respond({{"look", args}, {"send", args}, {"pay", args}});
  must(session->run_calls());
  must(session->record_request());
  respond({{"send", args}});
  must(session->run_calls());

  const Forked foreseen = must(foresee_fork(*store, id, Point::position(response)));
  const Forked forked = fork_at(Point::position(response));

  EXPECT_TRUE(foreseen.id.empty());
  ASSERT_EQ(calls_of(foreseen).size(), 3U);
  EXPECT_EQ(calls_of(foreseen)[0].as, Carried::runs);
  EXPECT_EQ(calls_of(foreseen)[1].as, Carried::runs);
  EXPECT_EQ(calls_of(foreseen)[2].as, Carried::replays);
  ASSERT_EQ(foreseen.effects_after.size(), 1U) << "what a later response asked for";
  EXPECT_EQ(forked.effects_after, foreseen.effects_after);
  EXPECT_EQ(forked.position, foreseen.position);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(calls_of(forked)[i].call, calls_of(foreseen)[i].call);
    EXPECT_EQ(calls_of(forked)[i].as, calls_of(foreseen)[i].as);
    EXPECT_EQ(calls_of(foreseen)[i].position, 0U);
  }
}

TEST_P(ForkCallsTest, AnApprovalGivenInTheParentIsNotOneInTheFork) {
  begin({tool("send")}, asks);
  respond({{"send", args}});
  must(session->run_calls());
  must(session->approve(first_call(), true, "ana", "fine"));

  const Forked forked = fork_at(Point::head());
  Resumed resumed = must(runtime->resume(forked.id));

  ASSERT_TRUE(resumed.report.calls.waiting);
  EXPECT_EQ(resumed.report.calls.waiting->what, Waiting::For::approval);
  EXPECT_EQ(resumed.report.calls.waiting->call, calls_of(forked).at(0).position);
  EXPECT_EQ(runs["send"], 0);
  must(resumed.session.approve(calls_of(forked)[0].position, true, "ben", "here too"));
  must(resumed.session.run_calls());
  EXPECT_EQ(runs["send"], 1);
  must(session->run_calls());
  EXPECT_EQ(runs["send"], 2) << "the parent's own call is as it was";
}

TEST_P(ForkCallsTest, ADenialInTheParentIsNotOneInTheFork) {
  begin({tool("send")}, asks);
  const Position response = respond({{"send", args}});
  must(session->run_calls());
  must(session->approve(first_call(), false, "ana", "no"));
  must(session->run_calls());
  ASSERT_EQ(state_of(first_call()), CallState::denied);

  const Forked forked = fork_at(Point::position(response));

  EXPECT_EQ(must(runtime->resume(forked.id)).report.calls.waiting->what, Waiting::For::approval);
}

TEST_P(ForkCallsTest, ACallThatIsUnderWayInItsSessionIsToldOfAndNeverRun) {
  begin({tool("send"), tool("mail")});
  leave_dispatched({{"send", args}, {"mail", args}});
  const Position response = first_call() - 1;
  for (const Point at : {Point::position(response), Point::head()}) {
    runs.clear();
    const Forked forked = fork_at(at);
    ASSERT_EQ(calls_of(forked).size(), 2U);
    EXPECT_EQ(calls_of(forked)[0].as, Carried::told);
    EXPECT_EQ(calls_of(forked)[0].position, 0U);
    EXPECT_EQ(calls_of(forked)[1].as, Carried::runs);

    Session fork = must(runtime->resume(forked.id)).session;

    EXPECT_EQ(runs["send"], 0);
    EXPECT_EQ(runs["mail"], 1) << "nobody has begun it";
    const Results results = results_in(fork.state());
    EXPECT_EQ(results.at(0),
              "[outcome unknown: this call was made as " + call_name(id, first_call()) +
                  ", by the session that this one was forked from, and its outcome was not known "
                  "there when this was written. It may have taken effect: do not make it "
                  "again.]");
    EXPECT_EQ(results.at(1), "mail done");
    EXPECT_TRUE(fork.record_request());
    EXPECT_EQ(state_of(first_call()), CallState::dispatched);
  }
}

TEST_P(ForkCallsTest, WhatWasToldStaysWhateverTheParentLearns) {
  begin({tool("send")});
  leave_dispatched({{"send", args}});
  session = must(runtime->resume(id)).session;
  ASSERT_EQ(state_of(first_call()), CallState::in_doubt);
  const Forked forked = fork_at(Point::head());
  const Results before = results_in(must(read_state(*store, forked.id, {})));
  ASSERT_NE(before.at(0).find("was not known"), std::string::npos);

  must(session->resolve(first_call(), {.as = Decision::As::succeeded, .result = "it came"}));

  Session fork = must(runtime->resume(forked.id)).session;
  EXPECT_EQ(results_in(fork.state()), before);
  EXPECT_EQ(runs["send"], 0);
}

TEST_P(ForkCallsTest, ACallThatWasGivenUpInItsSessionIsToldOfAndNeverRun) {
  begin({tool("send")});
  leave_dispatched({{"send", args}});
  session = must(runtime->resume(id)).session;
  const Position response = first_call() - 1;
  must(session->resolve(first_call(), {.as = Decision::As::abandoned}));

  const Forked forked = fork_at(Point::position(response));
  Session fork = must(runtime->resume(forked.id)).session;

  EXPECT_EQ(calls_of(forked).at(0).as, Carried::told);
  EXPECT_EQ(runs["send"], 0);
  EXPECT_NE(results_in(fork.state()).at(0).find("given up there"), std::string::npos);
}

TEST_P(ForkCallsTest, AReadThatIsUnderWayIsToldOfAsOneThatChangesNothing) {
  begin({tool("look", {.read = true})});
  leave_dispatched({{"look", args}});

  Session fork = must(runtime->resume(fork_at(Point::head()).id)).session;

  EXPECT_EQ(runs["look"], 0);
  EXPECT_NE(results_in(fork.state()).at(0).find("It only reads"), std::string::npos);
  must(fork.record_request());
  must(fork.record_response(asks_for({{"look", args}})));
  EXPECT_EQ(must(fork.run_calls()).run, 1U) << "nothing blocks it";
}

TEST_P(ForkCallsTest, InTheMiddleOfAStepMakesOnlyWhatHasNoOutcomeThere) {
  begin({tool("one"), tool("two")}, {.cadence = {.at = Cadence::At::call}});
  respond({{"one", args}, {"two", args}});
  must(session->run_calls());

  const Forked forked = fork_at(Point::version(1));
  ASSERT_EQ(calls_of(forked).size(), 1U);
  EXPECT_EQ(calls_of(forked)[0].call.tool, "two");
  Session fork = must(runtime->resume(forked.id)).session;

  EXPECT_EQ(runs["one"], 1);
  EXPECT_EQ(runs["two"], 2);
  EXPECT_EQ(results_in(fork.state()), (Results{"one done", "two done"}));
}

TEST_P(ForkCallsTest, WhatIsDoneOnceIsReplayedFromTheParent) {
  for (const Repeat repeat : {Repeat::once_per_session, Repeat::once_per_store}) {
    runs.clear();
    keys.clear();
    begin({once("pay", repeat)});
    const std::string order = R"({"order":)" + std::to_string(static_cast<int>(repeat)) + "}";
    const Position response = respond({{"pay", order}});
    must(session->run_calls());

    const Forked forked = fork_at(Point::position(response));
    Resumed resumed = must(runtime->resume(forked.id));

    EXPECT_EQ(calls_of(forked).at(0).as, Carried::replays);
    EXPECT_EQ(resumed.report.calls.replayed, 1U);
    EXPECT_EQ(runs["pay"], 1);
    EXPECT_EQ(results_in(resumed.session.state()), Results{"pay done"});
  }
}

// What was only intended when the fork was made may be begun by its own session a moment later.
TEST_P(ForkCallsTest, WhatIsDoneOnceIsDoneByWhoeverComesFirst) {
  begin({once("pay")}, asks);
  respond({{"pay", args}});
  must(session->run_calls());
  const Forked forked = fork_at(Point::head());
  ASSERT_EQ(calls_of(forked).at(0).as, Carried::runs);
  EXPECT_EQ(call_in(forked).key, calls_of(forked)[0].call.key);

  must(session->approve(first_call(), true, "ana", ""));
  must(session->run_calls());
  Session fork = must(runtime->resume(forked.id)).session;

  EXPECT_EQ(runs["pay"], 1);
  EXPECT_EQ(results_in(fork.state()), Results{"pay done"});
}

TEST_P(ForkCallsTest, FreshEffectsMakeItOnceMoreInTheForkAndOnlyOnce) {
  Tool pay = once("pay");
  pay.business_key = "/to";
  pay.input_schema = R"({"properties":{"urgent":{"default":false}}})";
  begin({pay});
  const Position response = respond({{"pay", args}});
  must(session->run_calls());

  const Forked forked = fork_at(Point::position(response), {.fresh_effects = true});
  EXPECT_EQ(calls_of(forked).at(0).as, Carried::runs);
  Session fork = must(runtime->resume(forked.id)).session;
  EXPECT_EQ(runs["pay"], 2);
  must(fork.record_request());
  must(fork.record_response(asks_for({{"pay", args}})));

  EXPECT_EQ(must(fork.run_calls()).replayed, 1U) << "asked for again, it is the same operation";
  EXPECT_EQ(runs["pay"], 2);
}

TEST_P(ForkCallsTest, AForkOfAForkMakesThemAsItsOwnToo) {
  begin({tool("send")}, asks);
  const Position response = respond({{"send", args}});
  const Forked first = fork_at(Point::position(response));
  for (const Point at : {Point::head(), Point::position(response)}) {
    runs.clear();
    const Forked second = must(runtime->fork(first.id, at));
    ASSERT_EQ(calls_of(second).size(), 1U);
    EXPECT_EQ(calls_of(second)[0].call.session, at == Point::head() ? first.id : id);
    Resumed resumed = must(runtime->resume(second.id));
    must(resumed.session.approve(calls_of(second)[0].position, true, "ana", ""));
    must(resumed.session.run_calls());
    EXPECT_EQ(runs["send"], 1);
    EXPECT_EQ(results_in(resumed.session.state()), Results{"send done"});
  }
}

TEST_P(ForkCallsTest, WhatAForkMakesAsItsOwnIsNotBlockedByWhatBecomesOfItElsewhere) {
  begin({tool("send")}, asks);
  respond({{"send", args}});
  must(session->run_calls());
  const Forked forked = fork_at(Point::head());
  behaviour["send"] = [](const CallContext&) { return Doubtful{"connection lost"}; };
  must(session->approve(first_call(), true, "ana", ""));
  ASSERT_EQ(must(session->run_calls()).waiting->what, Waiting::For::decision);
  behaviour.clear();
  runs.clear();

  Session fork = must(runtime->resume(forked.id)).session;
  must(fork.approve(calls_of(forked).at(0).position, true, "ana", ""));

  EXPECT_EQ(must(fork.run_calls()).refused, 0U);
  EXPECT_EQ(runs["send"], 1);
}

TEST_P(ForkCallsTest, WhatWasRefusedAtOnceIsRefusedForTheSameReason) {
  begin({tool("send"), tool("look", {.read = true})});
  const Position response =
      respond({{"none", args}, {"send", "["}, {"send", "[]"}, {"look", "[]"}});
  must(session->run_calls());
  const Results before = results_in(session->state());

  const Forked forked = fork_at(Point::position(response));
  Session fork = must(runtime->resume(forked.id)).session;

  ASSERT_EQ(calls_of(forked).size(), 4U);
  EXPECT_EQ(calls_of(forked)[0].as, Carried::refused);
  EXPECT_TRUE(runs.empty());
  const Results after = results_in(fork.state());
  ASSERT_EQ(after.size(), 4U);
  EXPECT_EQ(Results(after.begin(), after.begin() + 3), Results(before.begin(), before.begin() + 3));
  EXPECT_TRUE(fork.record_request());
}

TEST_P(ForkCallsTest, ThatIsNeverTakenUpKeepsItsCallsThroughARestart) {
  begin({tool("send")});
  const Position response = respond({{"send", args}});
  must(session->run_calls());
  const Forked forked = fork_at(Point::position(response));

  restart();

  EXPECT_EQ(call_in(forked).state, CallState::intended);
  must(runtime->resume(forked.id));
  EXPECT_EQ(runs["send"], 2);
}

TEST_P(ForkCallsTest, AtAPointWithoutOpenCallsBeginsWithNothingOfItsOwn) {
  begin({tool("send")});
  respond({{"send", args}});
  must(session->run_calls());

  const Forked forked = fork_at(Point::head());

  EXPECT_TRUE(calls_of(forked).empty());
  const SessionSummary row = must(store->sessions().read(forked.id));
  EXPECT_EQ(row.head, forked.position);
  EXPECT_EQ(row.next, forked.position + 1);
}

TEST_P(ForkCallsTest, ACallOfASessionThatIsGoneIsToldOf) {
  begin({tool("send")});
  const Position response = respond({{"send", args}});
  must(session->run_calls());
  const SessionId heir = must(SessionId::parse("ses_heir"));
  // As another program may make it: with the intent, and nothing of its own.
  must(store->sessions().create(
      {.id = heir,
       .origin = NewSession::Origin{
           .session = id, .at = Point::position(response + 1), .lineage = Lineage::fork}}));
  session.reset();
  must(store->upkeep().remove(id));

  const Forked forked = must(runtime->fork(heir, Point::head()));
  Session fork = must(runtime->resume(forked.id)).session;

  EXPECT_EQ(calls_of(forked).at(0).as, Carried::told);
  EXPECT_EQ(runs["send"], 1);
  EXPECT_NE(results_in(fork.state()).at(0).find("is gone with the session"), std::string::npos);
}

TEST_P(ForkCallsTest, ARewindToAResponseTellsWhatItsCallsCameToSince) {
  begin({tool("send")});
  const Position response = respond({{"send", args}});
  must(session->run_calls());

  must(session->rewind(Point::position(response)));
  must(session->run_calls());

  EXPECT_EQ(runs["send"], 1);
  EXPECT_EQ(results_in(session->state()), Results{"send done"});
  EXPECT_TRUE(session->record_request());
}

TEST_P(ForkCallsTest, ARewindOfAForkIntoAStepOfItsParentTellsWhatThatCameTo) {
  begin({tool("one"), tool("two")}, {.cadence = {.at = Cadence::At::call}});
  const Position response = respond({{"one", args}, {"two", args}});
  must(session->run_calls());
  const Forked forked = fork_at(Point::head());
  Session fork = must(runtime->resume(forked.id)).session;

  must(fork.rewind(Point::position(response)));
  must(fork.run_calls());

  EXPECT_EQ(runs["one"], 1);
  EXPECT_EQ(runs["two"], 1);
  EXPECT_EQ(results_in(fork.state()), (Results{"one done", "two done"}));
  EXPECT_TRUE(fork.record_request());
}

TEST_P(ForkCallsTest, ARewindOfAForkToItsBeginningTellsWhatItsOwnCallCameTo) {
  begin({tool("send")}, asks);
  const Position response = respond({{"send", args}});
  const Forked forked = fork_at(Point::position(response));
  Session fork = must(runtime->resume(forked.id)).session;
  must(fork.approve(calls_of(forked).at(0).position, true, "ana", ""));
  must(fork.run_calls());
  ASSERT_EQ(runs["send"], 1);

  for (const Position at : {forked.position, response}) {
    must(fork.rewind(Point::position(at)));
    EXPECT_EQ(must(fork.run_calls()).replayed, 1U);
    EXPECT_EQ(runs["send"], 1);
    EXPECT_EQ(results_in(fork.state()), Results{"send done"});
  }
}

// A fork as another program may make it, with nothing of its own.
TEST_P(ForkCallsTest, ARewindOfAForkMakesOnceWhatNobodyHasBegun) {
  begin({tool("send"), tool("mail")}, asks);
  const Position response = respond({{"send", args}});
  const SessionId bare = must(SessionId::parse("ses_bare"));
  must(store->sessions().create(
      {.id = bare,
       .origin =
           NewSession::Origin{.session = id, .at = Point::head(), .lineage = Lineage::fork}}));
  Session fork = must(runtime->open(bare));
  EXPECT_EQ(results_in(fork.state()),
            Results{"[outcome unknown: no result of this call is recorded]"});

  must(fork.rewind(Point::position(response)));
  const CallsReport report = must(fork.run_calls());
  ASSERT_TRUE(report.waiting);
  must(fork.approve(report.waiting->call, true, "ana", ""));
  must(fork.run_calls());
  must(fork.rewind(Point::position(response)));
  must(fork.run_calls());

  EXPECT_EQ(runs["send"], 1);
  EXPECT_EQ(results_in(fork.state()), Results{"send done"});
}

INSTANTIATE_TEST_SUITE_P(Every, ForkCallsTest, testing::ValuesIn(every_backend()),
                         [](const auto& named) { return named.param.name; });

}  // namespace
}  // namespace perdure
