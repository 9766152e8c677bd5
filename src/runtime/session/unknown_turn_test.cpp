// Turns whose commits are not answered: what was asked for is asked for once, and paid once.

#include <cstdint>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "dispatch/turns_fixture.hpp"
#include "doubles/counting_ids.hpp"
#include "doubles/fake_clock.hpp"
#include "doubles/must.hpp"
#include "doubles/watched_store.hpp"
#include "perdure/core/error.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"

namespace perdure {
namespace {

class UnknownTurnTest : public testing::Test {
 protected:
  UnknownTurnTest() { must(session.record_request({.reserve_micros = 10}, user_says("warm up"))); }

  /// Commits are made, and nobody is told.
  void lose_answers() {
    store.on_commit([this](const Lease& lease, const Batch& batch) -> Result<Receipt> {
      must(behind->commit(lease, batch));
      return fail(ErrorCode::commit_unknown, "the answer is lost");
    });
  }
  void answer_truly() { store.on_commit({}); }

  Tool pay() {
    Tool made{.name = "pay", .side_effects = SideEffects{.mutate = true}};
    made.run = [this](const CallContext&) -> ToolOutcome {
      ++runs;
      return Succeeded{"paid"};
    };
    return made;
  }

  static Tool look() {
    return {.name = "look",
            .side_effects = SideEffects{.read = true},
            .run = [](const CallContext&) { return Succeeded{"seen"}; }};
  }

  int runs = 0;
  FakeClock clock;
  CountingIds ids;
  std::unique_ptr<Store> behind = must(open_store("memory:", {.clock = &clock, .ids = &ids}));
  WatchedStore store{*behind};
  std::unique_ptr<Runtime> runtime =
      must(Runtime::start(store, {.host = "here",
                                  .pid = 7,
                                  .renews_itself = false,
                                  .tools = must(Tools::of({pay(), look()})),
                                  .clock = &clock,
                                  .ids = &ids}));
  Session session = must(runtime->create({.budget_micros = 1'000}));
};

TEST_F(UnknownTurnTest, ARequestIsNotWrittenTwice) {
  must(session.record_response(assistant_says("ready"), {.cost_micros = 10}));
  lose_answers();
  ASSERT_FALSE(session.record_request({.reserve_micros = 300}, user_says("go")));
  answer_truly();

  const auto again = session.record_request({.reserve_micros = 300}, user_says("go"));

  ASSERT_FALSE(again) << "it is open already";
  EXPECT_EQ(again.error().code, ErrorCode::conflict);
  EXPECT_EQ(session.state().transcript.size(), 3U);
  EXPECT_EQ(session.state().budget.available(), 1'000 - 10 - 300);
  EXPECT_TRUE(session.record_response(assistant_says("gone"), {.cost_micros = 200}));
}

TEST_F(UnknownTurnTest, AResponseIsNotWrittenTwice) {
  lose_answers();
  ASSERT_FALSE(session.record_response(asks_for({{"pay", "{}"}}), {.cost_micros = 10}));
  answer_truly();

  const auto again = session.record_response(asks_for({{"pay", "{}"}}), {.cost_micros = 10});

  ASSERT_FALSE(again) << "no request is open any more";
  EXPECT_EQ(again.error().code, ErrorCode::conflict);
  EXPECT_EQ(session.state().transcript.size(), 2U);
  EXPECT_EQ(must(behind->ledger().list({.session = session.id()})).size(), 1U);
  EXPECT_EQ(session.state().budget.totals.spent, 10);
}

TEST_F(UnknownTurnTest, NothingRunsOnADispatchOfWhichNobodyKnows) {
  lose_answers();
  ASSERT_FALSE(session.record_response(asks_for({{"pay", "{}"}})));
  EXPECT_FALSE(session.run_calls());
  EXPECT_EQ(runs, 0);
}

TEST_F(UnknownTurnTest, WhatIsPaidForAndWhatWasDoneIsOnDiskWhenItIsSaidToBe) {
  std::vector<Sync> syncs;
  store.on_commit([&](const Lease& lease, const Batch& batch) {
    syncs.push_back(batch.sync);
    return behind->commit(lease, batch);
  });
  must(session.record_response(asks_for({{"pay", "{}"}}), {.cost_micros = 10}));
  must(session.run_calls());
  must(session.record_request({.reserve_micros = 10}));
  must(session.record_response(assistant_says("paid"), {.cost_micros = 10}));
  EXPECT_EQ(syncs, std::vector<Sync>(4, Sync::now)) << "response, outcome, request, response";
}

// It was answered, and died before it synced: it comes up without it, and this process goes on.
TEST_F(UnknownTurnTest, WhatAServerLostThatWasToBeSyncedLaterIsWrittenAgain) {
  bool has_lost = false;
  store.on_commit([&](const Lease& lease, const Batch& batch) -> Result<Receipt> {
    if (batch.sync == Sync::now || std::exchange(has_lost, true)) {
      return behind->commit(lease, batch);
    }
    const std::uint64_t count = batch.entries.size();
    return Receipt{.batch = batch.id,
                   .first = batch.expected_head + 1,
                   .count = count,
                   .head = batch.expected_head + count,
                   .at = clock.now()};
  });
  must(session.record_response(asks_for({{"look", "{}"}}), {.cost_micros = 10}));
  must(session.run_calls());
  ASSERT_TRUE(has_lost);

  must(session.record_request({.reserve_micros = 10}));

  const auto calls = must(behind->ledger().list({.session = session.id()}));
  ASSERT_EQ(calls.size(), 1U);
  EXPECT_EQ(calls[0].state, CallState::succeeded);
  EXPECT_EQ(must(behind->sessions().read(session.id())).head, session.state().head);
}

TEST_F(UnknownTurnTest, APositionIsThatOfTheEntry) {
  lose_answers();
  ASSERT_FALSE(session.append("notes", Body::from_text("1")));
  answer_truly();

  const Position second = must(session.append("notes", Body::from_text("2")));

  EXPECT_EQ(session.state().head, second);
}

}  // namespace
}  // namespace perdure
