// Savers over a store: what comes back to the byte, what is written, what is refused.

#include <chrono>
#include <cstddef>
#include <gtest/gtest.h>
#include <memory>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "doubles/counting_ids.hpp"
#include "doubles/fake_clock.hpp"
#include "doubles/temp_folder.hpp"
#include "perdure/adapters/saver.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/store/store.hpp"

namespace perdure {
namespace {

RawJson json(std::string text) { return RawJson::from_text(std::move(text)).value(); }

std::string message(int number) {
  return R"({"id": )" + std::to_string(number) + R"(, "text": ")" +
         std::string(1000, static_cast<char>('a' + number % 26)) + std::to_string(number * 7919) +
         R"("})";
}

/// As Python writes it, with a space after every colon and comma.
std::string window(int from, int to) {
  std::string text = R"({"turn": )" + std::to_string(to) + R"(, "messages": [)";
  for (int i = from; i < to; ++i) text += (i == from ? "" : ", ") + message(i);
  return text + "]}";
}

/// A saver in memory whose store the test can look into.
class StoreSaverTest : public testing::Test {
 protected:
  void put_window(int from, int to) { ASSERT_TRUE(saver->put("t", json(window(from, to)))); }

  std::vector<Entry> entries() { return store->log().read(thread, {}).value(); }

  std::size_t stored_bytes() {
    const auto all = entries();
    return std::accumulate(
        all.begin(), all.end(), std::size_t{0},
        [](std::size_t sum, const Entry& entry) { return sum + entry.body.bytes().size(); });
  }

  FakeClock clock;
  CountingIds ids;
  const SessionId thread = SessionId::parse("t").value();
  std::shared_ptr<Store> store = open_store("memory:", {.clock = &clock, .ids = &ids}).value();
  const SaverOptions options{.clock = &clock, .ids = &ids};
  const std::unique_ptr<CheckpointSaver> saver = make_saver(store, options);
};

TEST_F(StoreSaverTest, StatesComeBackByteForByte) {
  const std::string odd = "\t{ \"b\" : 1.0,\n\"a\":[ ],\"b\":\"\\u0041\\/\" } ";
  ASSERT_TRUE(saver->put("t", json(odd)));
  EXPECT_EQ(saver->get("t").value()->state.read()->text(), odd);
  for (int turn = 1; turn < 40; ++turn) {
    put_window(turn / 2, turn);
    EXPECT_EQ(saver->get("t").value()->state.read()->text(), window(turn / 2, turn));
  }
}

TEST_F(StoreSaverTest, AGrowingListCostsItsNewElements) {
  for (int turn = 1; turn <= 200; ++turn) put_window(0, turn);
  const auto text = window(0, 200).size();
  EXPECT_LT(stored_bytes(), 4 * text) << "200 whole states would be 100 times the text";
  const auto last = entries().back();
  EXPECT_EQ(last.kind, "change");
  EXPECT_LT(last.body.bytes().size(), 2 * message(200).size());
}

TEST_F(StoreSaverTest, ASlidingWindowDoesNotGoQuadratic) {
  for (int turn = 50; turn <= 250; ++turn) put_window(turn - 50, turn);
  EXPECT_LT(stored_bytes(), 4 * 250 * message(0).size()) << "200 whole states would be 10,000";
  EXPECT_EQ(saver->get("t").value()->state.read()->text(), window(200, 250));
}

TEST_F(StoreSaverTest, ALoadReadsABoundedNumberOfEntries) {
  // The smallest of changes, again and again.
  for (int turn = 0; turn < 300; ++turn) {
    const std::string state =
        R"({"turn":)" + std::to_string(turn) + R"(,"text":")" + std::string(20'000, 'x') + R"("})";
    ASSERT_TRUE(saver->put("t", json(state)));
  }
  std::size_t changes = 0;
  for (const Entry& entry : entries()) {
    changes = entry.kind == "change" ? changes + 1 : 0;
    EXPECT_LE(changes, 20'100U / 1024);
  }
}

TEST_F(StoreSaverTest, AFreshSaverWritesNoMoreThanAWarmOne) {
  put_window(0, 100);
  const auto fresh = make_saver(store, options);
  ASSERT_TRUE(fresh->put("t", json(window(0, 101))));
  EXPECT_EQ(entries().back().kind, "change");
  EXPECT_LT(entries().back().body.bytes().size(), 2 * message(101).size());
}

TEST_F(StoreSaverTest, PutsByFreshSaversComeBackByteForByte) {
  // Now and then something else than growth.
  const auto state = [](int turn) {
    if (turn % 13 == 0) return window(turn, 300 + turn);
    std::string text = window(0, 300 + turn);
    if (turn % 7 == 0) text[text.size() / 2] = 'X';
    return text;
  };
  for (int turn = 0; turn < 40; ++turn) {
    const auto fresh = make_saver(store, options);
    ASSERT_TRUE(fresh->put("t", json(state(turn))));
    ASSERT_EQ(fresh->get("t").value()->state.read()->text(), state(turn)) << turn;
  }
}

TEST_F(StoreSaverTest, AFreshSaverWritesWhatAWarmOneWouldOfALargeState) {
  for (int turn = 0; turn < 30; ++turn) {
    put_window(0, 300 + turn);
    const auto fresh = make_saver(store, options);
    ASSERT_TRUE(fresh->put("u", json(window(0, 300 + turn))));
  }
  const auto others = store->log().read(SessionId::parse("u").value(), {}).value();
  const auto ours = entries();
  ASSERT_EQ(ours.size(), others.size());
  for (std::size_t i = 0; i < ours.size(); ++i) {
    EXPECT_EQ(ours[i].kind, others[i].kind) << i;
    EXPECT_EQ(ours[i].body.bytes(), others[i].body.bytes()) << i;
  }
}

TEST_F(StoreSaverTest, FreshSaversWriteWholeStatesTooWhenTheChangesCostAsMuch) {
  std::size_t wholes = 0;
  for (int turn = 1; turn <= 30; ++turn) {
    std::string state = window(0, 300);
    for (int i = 0; i < 30; ++i) state.insert(state.size() - 2, ", " + message(1000 * turn + i));
    const auto fresh = make_saver(store, options);
    ASSERT_TRUE(fresh->put("t", json(state)));
    if (entries().back().kind == "whole") ++wholes;
  }
  EXPECT_EQ(wholes, 3U) << "a change costs a tenth of the state";
}

TEST_F(StoreSaverTest, APutGoesOnFromWhatAnotherSaverPut) {
  put_window(0, 100);
  const auto other = make_saver(store, options);
  ASSERT_TRUE(other->put("t", json(window(30, 120))));
  put_window(0, 101);
  EXPECT_EQ(saver->get("t").value()->state.read()->text(), window(0, 101));
}

TEST_F(StoreSaverTest, AThreadMadeAnewByAnotherIsNotTakenForTheOldOne) {
  put_window(0, 20);
  const auto other = make_saver(store, options);
  ASSERT_TRUE(other->remove("t"));
  ASSERT_TRUE(other->put("t", json(window(100, 140))));
  // As many entries as this saver remembers, in the same millisecond.
  put_window(0, 21);
  EXPECT_EQ(saver->get("t").value()->state.read()->text(), window(0, 21));
}

TEST_F(StoreSaverTest, OrderIsThatOfThePutsWhenTheClockStepsBack) {
  const auto noon = clock.now();
  const auto first = saver->put("t", json(R"({"n":1})")).value();
  clock.set_wall(noon - std::chrono::hours(24));
  const auto second = saver->put("t", json(R"({"n":2})")).value();
  EXPECT_LT(second.created_at, first.created_at);
  EXPECT_EQ(saver->get("t").value()->id, second.id);
  const auto listed = saver->list("t").value();
  ASSERT_EQ(listed.size(), 2U);
  EXPECT_EQ(listed[0].id, second.id);
  EXPECT_EQ(saver->list("t", second.id)->at(0).id, first.id);
  EXPECT_TRUE(saver->list("t", first.id)->empty());
}

TEST_F(StoreSaverTest, APutAfterDamageIsWholeAgain) {
  put_window(0, 20);
  const auto damaged = saver->put("t", json(window(0, 21))).value();
  ASSERT_TRUE(store->upkeep().erase(thread, {entries().back().position}));
  const auto fresh = make_saver(store, options);
  const auto lost = fresh->get("t");
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code, ErrorCode::corrupted);
  ASSERT_TRUE(fresh->put("t", json(window(0, 22))));
  EXPECT_EQ(fresh->get("t").value()->state.read()->text(), window(0, 22));
  EXPECT_FALSE(fresh->get("t", damaged.id));
}

TEST_F(StoreSaverTest, PruneLeavesTheCheckpointsItIsToldTo) {
  std::vector<std::string> made;
  for (int turn = 1; turn <= 60; ++turn) {
    made.push_back(saver->put("t", json(window(0, turn))).value().id);
  }
  const auto pruned = store->upkeep().prune(thread, {.last = 5, .labelled = false});
  ASSERT_TRUE(pruned);
  EXPECT_GT(pruned->entries, 0U);
  const auto left = saver->list("t", {}, 100).value();
  ASSERT_EQ(left.size(), 5U);
  for (std::size_t i = 0; i < left.size(); ++i) {
    EXPECT_EQ(left[i].state.read()->text(), window(0, 60 - static_cast<int>(i)));
  }
  EXPECT_FALSE(saver->get("t", made.front()).value());
  put_window(0, 61);
  EXPECT_EQ(saver->get("t").value()->state.read()->text(), window(0, 61));
}

TEST_F(StoreSaverTest, ASessionThatIsNoThreadIsLeftAlone) {
  const auto worker = mint<WorkerTag>(ids);
  ASSERT_TRUE(store->sessions().create({.id = thread}));
  ASSERT_TRUE(store->ownership().enroll({.id = worker}));
  const auto lease = store->ownership().acquire(thread, worker).value();
  Batch batch{.id = mint<BatchTag>(ids)};
  batch.entries = {{.channel = "transcript", .kind = "message", .body = Body::from_text("{}")}};
  batch.checkpoint = NewCheckpoint{.reason = "turn"};
  ASSERT_TRUE(store->commit(lease, batch));
  ASSERT_TRUE(store->ownership().release(lease));
  const auto made = saver->put("t", json("{}"));
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ErrorCode::conflict);
  EXPECT_FALSE(saver->get("t").value());
  EXPECT_TRUE(saver->list("t")->empty());
}

TEST_F(StoreSaverTest, AThreadIsNoSessionThatAWorkerShouldRun) {
  put_window(0, 1);
  (void)saver->claim_step("t", "k", "f").value();
  EXPECT_TRUE(store->sessions().due(10)->empty());
}

TEST_F(StoreSaverTest, AListReadsNoState) {
  for (int turn = 1; turn <= 20; ++turn) put_window(0, turn);
  const auto listed = saver->list("t").value();
  ASSERT_EQ(listed.size(), 10U);
  EXPECT_EQ(listed[3].state.read()->text(), window(0, 17));
  ASSERT_TRUE(saver->remove("t"));
  const auto gone = listed[3].state.read();
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().code, ErrorCode::not_found);
}

TEST_F(StoreSaverTest, WorksOnAfterItsLeaseTime) {
  put_window(0, 1);
  (void)saver->claim_step("t", "a", "f").value();
  clock.advance(std::chrono::hours(48));
  put_window(0, 2);
  const auto claim = saver->claim_step("t", "b", "f").value();
  EXPECT_TRUE(saver->fill_step(std::get<CheckpointSaver::StepClaim>(claim), json("1")));
}

TEST_F(StoreSaverTest, TheHolderOfALiveLeaseIsNamedWhenItDoesNotLetGo) {
  put_window(0, 1);
  const auto worker = mint<WorkerTag>(ids);
  ASSERT_TRUE(store->ownership().enroll({.id = worker}));
  const auto lease = store->ownership().acquire(thread, worker);
  ASSERT_TRUE(lease);
  const auto hasty = make_saver(store, {.wait = Duration::zero(), .clock = &clock, .ids = &ids});
  const auto made = hasty->put("t", json("{}"));
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ErrorCode::lease_held);
  EXPECT_EQ(made.error().subject, worker.text());
  EXPECT_TRUE(hasty->get("t").value()) << "a read waits for nobody";
}

TEST_F(StoreSaverTest, TheNameOfAThreadsStepsIsNoThread) {
  put_window(0, 1);
  (void)saver->claim_step("t", "k", "f").value();
  const auto page = store->sessions().list({}).value();
  for (const auto& session : page.sessions) {
    if (session.id == thread) continue;
    const auto made = saver->put(session.id.text(), json("{}"));
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code, ErrorCode::invalid_argument);
  }
}

TEST_F(StoreSaverTest, LimitsAreRefusedBeforeAnythingIsWritten) {
  const auto made =
      saver->put("t", json("{}"), {}, json(R"({"m":")" + std::string(16'000, 'x') + R"("})"));
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ErrorCode::invalid_argument);
  EXPECT_FALSE(store->sessions().read(thread));
}

TEST(OpenSaver, InMemoryIsMemory) {
  const auto saver = open_saver(":memory:").value();
  EXPECT_TRUE(saver->put("t", json("{}")));
  EXPECT_TRUE(saver->get("t").value());
}

TEST(OpenSaver, SaysWhyItCannotOpen) {
  const auto saver = open_saver("/nowhere/at/all.db");
  ASSERT_FALSE(saver);
  EXPECT_EQ(saver.error().code, ErrorCode::unavailable);
}

TEST(OpenSaver, KeepsEverythingWhenItIsOpenedAgain) {
  const TempFolder folder;
  {
    const auto saver = open_saver(folder.file("s.db")).value();
    for (int turn = 1; turn <= 30; ++turn) ASSERT_TRUE(saver->put("t", json(window(0, turn))));
    const auto claim = saver->claim_step("t", "k", "f").value();
    ASSERT_TRUE(saver->fill_step(std::get<CheckpointSaver::StepClaim>(claim), json("1")));
  }
  const auto saver = open_saver(folder.file("s.db")).value();
  const auto all = saver->list("t", {}, 100).value();
  ASSERT_EQ(all.size(), 30U);
  for (int turn = 30; turn >= 1; --turn) {
    EXPECT_EQ(all.at(static_cast<std::size_t>(30 - turn)).state.read()->text(), window(0, turn));
  }
  EXPECT_EQ(saver->list_steps("t")->size(), 1U);
}

}  // namespace
}  // namespace perdure
