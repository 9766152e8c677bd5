// How often a turn waits for the disk: two times, and for each response with calls once, and once
// for each of them that changes something.

#include <chrono>
#include <cstdint>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "counted/counted_turns.hpp"
#include "doubles/must.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"

namespace perdure {
namespace {

std::uint64_t syncs_of_turn(const std::vector<Calls>& responses, const Policy& policy = {}) {
  CountedTurns turns(policy);
  turns.take_turn({});  // The first frames of a WAL are preceded by its header, with a sync.
  return turns.syncs_of([&] { turns.take_turn(responses); });
}

Calls times(std::size_t count, const std::string& tool) { return Calls(count, tool); }

Policy with(Cadence cadence) { return {.cadence = cadence}; }

TEST(TurnSyncs, WithoutCallsThereAreTwo) { EXPECT_EQ(syncs_of_turn({}), 2U); }

TEST(TurnSyncs, AResponseThatOnlyReadsAddsOneHoweverMuchItReads) {
  for (const std::size_t count : {1U, 2U, 7U}) {
    EXPECT_EQ(syncs_of_turn({times(count, "look")}), 2U + 1U) << count;
  }
}

TEST(TurnSyncs, EachCallThatChangesSomethingAddsOne) {
  for (const std::size_t count : {1U, 2U, 7U}) {
    EXPECT_EQ(syncs_of_turn({times(count, "pay")}), 2U + 1U + count) << count;
  }
}

TEST(TurnSyncs, ReadsAfterTheLastChangeAddNone) {
  EXPECT_EQ(syncs_of_turn({{"pay", "look"}}), 2U + 1U + 1U);
  EXPECT_EQ(syncs_of_turn({{"pay", "pay", "look", "look"}}), 2U + 1U + 2U);
}

// It is dispatched after they have answered, and not without a sync.
TEST(TurnSyncs, AChangeThatWaitsForReadsAddsOneMore) {
  EXPECT_EQ(syncs_of_turn({{"look", "pay"}}), 2U + 1U + 1U + 1U);
  EXPECT_EQ(syncs_of_turn({{"look", "look", "pay", "look"}}), 2U + 1U + 1U + 1U);
  EXPECT_EQ(syncs_of_turn({{"look", "pay", "look", "pay"}}), 2U + 1U + 2U + 2U);
}

TEST(TurnSyncs, ResponsesAddUp) {
  EXPECT_EQ(syncs_of_turn({{"look"}, {"pay"}, {"look", "look"}}), 2U + 1U + 2U + 1U);
}

TEST(TurnSyncs, ACallThatNeedsApprovalAddsTheQuestionTheWordAndItsDispatch) {
  CountedTurns turns({.permit = [](const State&, const ProposedCall&) {
    return PermitDecision::ask("it is a rule");
  }});
  turns.take_turn({});
  const auto syncs = turns.syncs_of([&] {
    must(turns.session->record_request({}, user_says("go")));
    turns.ask_for({"pay"});
    const CallsReport report = must(turns.session->run_calls());
    must(turns.session->approve(report.waiting.value().call, true, "ann", "fine"));
    must(turns.session->run_calls());
    must(turns.session->record_request());
    turns.end_turn();
  });
  EXPECT_EQ(syncs, 2U + 1U + 1U + 3U);
}

// The doubt stands in the place of the outcome; the session waits, somebody decides, and the model
// is asked.
TEST(TurnSyncs, ACallInDoubtAddsTheWaitTheDecisionAndTheNextRequest) {
  CountedTurns turns;
  turns.take_turn({});
  const auto syncs = turns.syncs_of([&] {
    must(turns.session->record_request({}, user_says("go")));
    turns.ask_for({"lose"});
    const CallsReport report = must(turns.session->run_calls());
    must(turns.session->resolve(report.waiting.value().call,
                                {.as = Decision::As::succeeded, .result = "done", .who = "ann"}));
    must(turns.session->run_calls());
    must(turns.session->record_request());
    turns.end_turn();
  });
  EXPECT_EQ(syncs, 2U + 1U + 1U + 3U);
}

TEST(TurnSyncs, NamingEveryCallAddsNone) {
  const Policy policy = with({.at = Cadence::At::call});
  EXPECT_EQ(syncs_of_turn({}, policy), 2U);
  EXPECT_EQ(syncs_of_turn({{"look", "look"}}, policy), 2U + 1U);
  EXPECT_EQ(syncs_of_turn({{"pay", "pay"}}, policy), 2U + 1U + 2U);
}

// The end of a turn is synced with the next intent, or when it is named.
TEST(TurnSyncs, APeriodLeavesOutTheEndsOfTurnsAndNothingElse) {
  const Policy policy =
      with({.at = Cadence::At::period, .turns = 100, .time = std::chrono::hours(1)});
  EXPECT_EQ(syncs_of_turn({}, policy), 1U);
  EXPECT_EQ(syncs_of_turn({{"look"}}, policy), 1U + 1U);
  EXPECT_EQ(syncs_of_turn({{"pay", "pay"}}, policy), 1U + 1U + 2U);
}

TEST(TurnSyncs, APeriodSyncsTheTurnThatItNames) {
  CountedTurns turns(with({.at = Cadence::At::period, .turns = 3, .time = std::chrono::hours(1)}));
  turns.take_turn({});
  std::vector<std::uint64_t> syncs;
  for (int turn = 2; turn <= 7; ++turn) {
    syncs.push_back(turns.syncs_of([&] { turns.take_turn({}); }));
  }
  EXPECT_EQ(syncs, (std::vector<std::uint64_t>{1, 2, 1, 1, 2, 1}));
}

}  // namespace
}  // namespace perdure
