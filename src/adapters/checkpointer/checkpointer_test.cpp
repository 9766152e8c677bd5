// Sessions and versions of a checkpointer, over every backend.

#include "perdure/adapters/checkpointer.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <gtest/gtest.h>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "book/book_session.hpp"
#include "contract/backends.hpp"
#include "doubles/must.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"

namespace perdure {
namespace {

constexpr std::int64_t another_process = 8;

class CheckpointerTest : public BookSession {
 protected:
  void set_status(Status status) {
    const auto worker = mint<WorkerTag>(random_ids());
    must(store->ownership().enroll({.id = worker}));
    const Lease lease = must(store->ownership().acquire(session, worker));
    must(store->commit(lease, {.id = mint<BatchTag>(random_ids()),
                               .expected_head = must(store->sessions().read(session)).head,
                               .status = StatusChange{.status = status}}));
    must(store->ownership().retire(worker));
  }
  Checkpointer::Loaded load() { return must(book->load_latest(session)).value(); }

  const std::string a = said("user", "a");
  const std::string b = said("assistant", "b");
  const std::string c = said("user", "c");
};

TEST_P(CheckpointerTest, StartingMakesTheSessionAndTwiceIsNoError) {
  ASSERT_TRUE(book->start_session(session));
  EXPECT_TRUE(book->start_session(session));
  EXPECT_EQ(must(store->sessions().read(session)).status, Status::active);
}

TEST_P(CheckpointerTest, ASessionIsThereWithItsOpeningOrNotAtAll) {
  const auto before = store->info().commits;
  must(book->start_session(session, list({a})));
  EXPECT_EQ(store->info().commits, before + 1);
  EXPECT_EQ(must(store->log().find_value(session, "origin", Point::head()))->position, 1U);
}

TEST_P(CheckpointerTest, NothingIsWrittenBeforeTheFirstStart) {
  const auto before = must(store->change_number());
  const Checkpointer another(*store);
  EXPECT_EQ(must(store->change_number()), before);
}

TEST_P(CheckpointerTest, TheOpeningIsThereBeforeAnyVersion) {
  must(book->start_session(session, list({a})));
  restart();
  EXPECT_EQ(load().version, 0U);
  EXPECT_EQ(load().content.transcript, json("[" + a + "]"));
}

TEST_P(CheckpointerTest, OfASessionThatHasMessagesTheOpeningIsIgnored) {
  must(book->start_session(session, list({a})));
  must(book->start_session(session, list({b})));
  EXPECT_EQ(load().content.transcript.text(), "[" + a + "]");
}

TEST_P(CheckpointerTest, AnOpeningThatIsNoListIsRefused) {
  EXPECT_EQ(code_of(book->start_session(session, json("{}"))), ErrorCode::invalid_argument);
  EXPECT_FALSE(store->sessions().read(session));
}

TEST_P(CheckpointerTest, ASessionThatWaitsBecomesActive) {
  must(store->sessions().create({.id = session, .status = Status::waiting, .wait_reason = "you"}));
  must(book->start_session(session));
  EXPECT_EQ(must(store->sessions().read(session)).status, Status::active);
}

TEST_P(CheckpointerTest, ASessionThatEndedOrIsPausedIsNotStarted) {
  must(book->start_session(session, list({a})));
  book.reset();
  for (const Status status :
       {Status::paused, Status::completed, Status::failed, Status::cancelled}) {
    set_status(status);
    book = make();
    EXPECT_EQ(code_of(book->start_session(session)), ErrorCode::conflict);
    EXPECT_EQ(code_of(book->save_checkpoint(session, {})), ErrorCode::conflict);
    EXPECT_EQ(must(store->sessions().read(session)).status, status);
    EXPECT_FALSE(must(store->sessions().read(session)).holder) << "it was let go";
    EXPECT_EQ(load().content.transcript.text(), "[" + a + "]") << "and can still be read";
    EXPECT_FALSE(must(store->sessions().read(session)).holder) << "without being taken";
    book.reset();
  }
}

TEST_P(CheckpointerTest, WhoeverComesSecondIsToldWhoHasIt) {
  must(book->start_session(session));
  Checkpointer other(*store, {.pid = another_process});
  const auto started = other.start_session(session);
  ASSERT_EQ(code_of(started), ErrorCode::lease_held);
  const Holder holder = must(store->sessions().read(session)).holder.value();
  EXPECT_EQ(started.error().subject, holder.worker.text());
  for (const std::string& part :
       {holder.worker.text(), holder.host, std::to_string(holder.pid), to_iso8601(holder.since)}) {
    EXPECT_NE(started.error().message.find(part), std::string::npos) << started.error().message;
  }
  EXPECT_EQ(code_of(other.load_latest(session)), ErrorCode::lease_held);
}

TEST_P(CheckpointerTest, EndingItselfGivesAllSessionsUp) {
  must(book->start_session(session));
  book.reset();
  Checkpointer other(*store);
  EXPECT_TRUE(other.start_session(session));
}

TEST_P(CheckpointerTest, WhatIsNotStartedHereIsNotWritten) {
  must(store->sessions().create({.id = session}));
  EXPECT_EQ(code_of(book->save_checkpoint(session, {})), ErrorCode::conflict);
  EXPECT_EQ(code_of(book->record_tool_call_issued(session, email("ann"))), ErrorCode::conflict);
  EXPECT_EQ(code_of(book->record_tool_call_result(session, 1, Failed{})), ErrorCode::conflict);
  EXPECT_EQ(code_of(book->end_session(session, Status::completed)), ErrorCode::conflict);
  EXPECT_TRUE(entries("").empty());
}

TEST_P(CheckpointerTest, AnOutdatedOwnerWritesNothingAndIsToldWhoHasItNow) {
  must(book->start_session(session, list({a})));
  clock.advance(std::chrono::hours(1));
  Checkpointer other(*store, {.clock = &clock, .pid = another_process});
  must(other.start_session(session));
  EXPECT_EQ(code_of(book->save_checkpoint(session, {.transcript = list({a, b})})),
            ErrorCode::lease_lost);
  EXPECT_EQ(code_of(book->save_checkpoint(session, {.transcript = list({a, b})})),
            ErrorCode::conflict);
  EXPECT_EQ(code_of(book->load_latest(session)), ErrorCode::lease_held);
  EXPECT_EQ(must(other.load_latest(session))->content.transcript.text(), "[" + a + "]");
}

TEST_P(CheckpointerTest, WhoeverLoadsAgainAfterATakeOverIsNotToldWhatWasTrueBefore) {
  must(book->start_session(session, list({a})));
  clock.advance(std::chrono::hours(1));
  {
    Checkpointer other(*store, {.clock = &clock, .pid = another_process});
    must(other.start_session(session));
    must(other.save_checkpoint(session, {.transcript = list({a, b})}));
  }
  EXPECT_EQ(load().content.transcript.text(), "[" + a + "," + b + "]");
  EXPECT_EQ(save({a, b, c}), 2U);
}

TEST_P(CheckpointerTest, WhatWasSavedIsLoadedByteForByte) {
  must(book->start_session(session));
  const std::string odd = R"({"b" : 1.0,"a":[ ],"n":12345678901234567890, "s":"\u0041\/"})";
  const Checkpointer::Content content{.transcript = json("[" + odd + ",7,\"x\"]"),
                                      .plan = json("{ \"steps\":\t[] }"),
                                      .spent_micros = 1'250'000};
  EXPECT_EQ(must(book->save_checkpoint(session, content)), 1U);
  restart();
  EXPECT_EQ(load().version, 1U);
  EXPECT_EQ(load().content, content);
  EXPECT_TRUE(load().missing.empty());
}

TEST_P(CheckpointerTest, VersionsCountUpAndEachIsReadAsItWas) {
  must(book->start_session(session));
  EXPECT_EQ(save({a}, 10), 1U);
  EXPECT_EQ(save({a, b}, 20), 2U);
  EXPECT_EQ(save({a, b}, 20), 3U) << "nothing changed, and it is a version all the same";
  restart();
  const auto first = must(read_content(*store, session, Point::version(1)));
  EXPECT_EQ(first.version, 1U);
  EXPECT_EQ(first.content.transcript.text(), "[" + a + "]");
  EXPECT_EQ(first.content.spent_micros, 10);
  EXPECT_EQ(load().version, 3U);
  EXPECT_EQ(code_of(read_content(*store, session, Point::version(9))), ErrorCode::not_found);
}

TEST_P(CheckpointerTest, ATranscriptThatGrowsAddsItsNewMessages) {
  must(book->start_session(session));
  save({a});
  save({a, b, c});
  const auto written = entries("transcript");
  ASSERT_EQ(written.size(), 3U);
  for (const Entry& entry : written) EXPECT_EQ(entry.fold, Fold::append);
  EXPECT_EQ(written[2].body.bytes(), c);
}

TEST_P(CheckpointerTest, TheSameJsonInOtherWordsIsNoChange) {
  must(book->start_session(session));
  must(book->save_checkpoint(
      session, {.transcript = json(R"([{"a": 1, "b": [1.0]}])"), .plan = json(R"({"x": 1})")}));
  restart();
  (void)load();
  must(book->save_checkpoint(
      session, {.transcript = json(R"([{"b":[1],"a":1},2])"), .plan = json(R"({"x":1})")}));
  EXPECT_EQ(entries("transcript").size(), 2U);
  EXPECT_EQ(entries("plan").size(), 1U);
}

TEST_P(CheckpointerTest, AnyOtherTranscriptIsWrittenWholeAndTheOldOneStaysInItsVersion) {
  must(book->start_session(session));
  save({a, b});
  save({c, b});
  EXPECT_EQ(entries("transcript").at(2).fold, Fold::replace);
  save({c});
  restart();
  EXPECT_EQ(load().content.transcript.text(), "[" + c + "]");
  const auto text = [&](Version version) {
    return must(read_content(*store, session, Point::version(version))).content.transcript.text();
  };
  EXPECT_EQ(text(1), "[" + a + "," + b + "]");
  EXPECT_EQ(text(2), "[" + c + "," + b + "]");
}

TEST_P(CheckpointerTest, ATranscriptThatIsNoListOrWasForgottenIsRefused) {
  must(book->start_session(session));
  EXPECT_EQ(code_of(book->save_checkpoint(session, {.transcript = json("{}")})),
            ErrorCode::invalid_argument);
  save({a});
  EXPECT_EQ(code_of(book->save_checkpoint(session, {})), ErrorCode::invalid_argument);
  EXPECT_EQ(load().version, 1U);
}

TEST_P(CheckpointerTest, APlanIsWrittenWhenItChangesAndCanBeDropped) {
  must(book->start_session(session));
  const auto put = [&](std::optional<RawJson> plan) {
    must(book->save_checkpoint(session, {.plan = std::move(plan)}));
    restart();
    return load().content.plan;
  };
  EXPECT_EQ(put({}), std::nullopt);
  EXPECT_EQ(put(json("null")), std::nullopt);
  EXPECT_TRUE(entries("plan").empty());
  EXPECT_EQ(put(json(R"({"step":1})")), json(R"({"step":1})"));
  EXPECT_EQ(put(json(R"({"step":1})")), json(R"({"step":1})"));
  EXPECT_EQ(entries("plan").size(), 1U);
  EXPECT_EQ(put(json(R"({"step":2})")), json(R"({"step":2})"));
  EXPECT_EQ(put({}), std::nullopt);
}

TEST_P(CheckpointerTest, WhatWasPaidStaysPaid) {
  must(book->start_session(session));
  save({a}, 700);
  restart();
  EXPECT_EQ(load().content.spent_micros, 700);
  EXPECT_EQ(code_of(book->save_checkpoint(session, {.transcript = list({a}), .spent_micros = 699})),
            ErrorCode::invalid_argument);
  save({a}, 900);
  EXPECT_EQ(must(store->sessions().read(session)).tally.cost_micros, 900);
}

TEST_P(CheckpointerTest, AVersionCostsWhatChanged) {
  must(book->start_session(session));
  std::vector<std::string> messages;
  std::vector<std::size_t> sizes;
  for (int turn = 0; turn < 60; ++turn) {
    for (int i = 0; i < 4; ++i) messages.push_back(said("user", std::string(1000, 'x')));
    const Position before = must(store->sessions().read(session)).head;
    save(messages, turn);
    const auto written = must(store->log().read(session, {.from = before + 1}));
    sizes.push_back(std::accumulate(
        written.begin(), written.end(), std::size_t{0},
        [](std::size_t sum, const Entry& entry) { return sum + entry.body.bytes().size(); }));
  }
  EXPECT_LT(sizes.back(), sizes.at(1) + 64);
}

TEST_P(CheckpointerTest, ThereIsNothingToLoadWhereNothingWasWritten) {
  EXPECT_EQ(must(book->load_latest(session)).has_value(), false);
  EXPECT_FALSE(store->sessions().read(session));
  must(book->start_session(session));
  EXPECT_EQ(must(book->load_latest(session)).has_value(), false);
}

TEST_P(CheckpointerTest, LoadingTakesTheSessionUp) {
  must(book->start_session(session));
  save({a});
  restart();
  (void)load();
  EXPECT_EQ(save({a, b}), 2U);
}

TEST_P(CheckpointerTest, WhatIsErasedIsNamedAndTheRestIsThere) {
  must(book->start_session(session));
  save({a, b, c}, 5);
  const Position gone = entries("transcript").at(1).position;
  must(store->upkeep().erase(session, {gone}));
  restart();
  EXPECT_EQ(load().content.transcript.text(), "[" + a + "," + c + "]");
  EXPECT_EQ(load().missing, std::vector{gone});
  EXPECT_EQ(save({a, c, b}, 5), 2U);
  EXPECT_EQ(entries("transcript").size(), 4U) << "it goes on from what was loaded";
}

TEST_P(CheckpointerTest, AnEndIsSaidAndTheSessionGivenUp) {
  must(book->start_session(session));
  save({a});
  EXPECT_EQ(code_of(book->end_session(session, Status::paused)), ErrorCode::invalid_argument);
  must(book->end_session(session, Status::completed));
  const auto row = must(store->sessions().read(session));
  EXPECT_EQ(row.status, Status::completed);
  EXPECT_FALSE(row.holder);
  EXPECT_EQ(code_of(book->end_session(session, Status::completed)), ErrorCode::conflict);
}

TEST_P(CheckpointerTest, ASessionIsNotCompleteWhileACallHasNoOutcome) {
  must(book->start_session(session));
  const Position call = run(email("ann"));
  const auto ended = book->end_session(session, Status::completed);
  ASSERT_EQ(code_of(ended), ErrorCode::conflict);
  EXPECT_EQ(ended.error().subject, call_name(session, call));
  EXPECT_EQ(code_of(book->end_session(session, Status::failed)), ErrorCode::conflict);
  EXPECT_TRUE(book->end_session(session, Status::cancelled)) << "but may be given up";
}

INSTANTIATE_TEST_SUITE_P(EveryBackend, CheckpointerTest, testing::ValuesIn(every_backend()),
                         [](const auto& backend) { return backend.param.name; });

}  // namespace
}  // namespace perdure
