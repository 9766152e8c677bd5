// retention.hpp made executable: pruning and forgetting versions.

#include "contract/store_contract.hpp"

namespace perdure {
namespace {

using testing::ElementsAre;

class PruneContract : public StoreContract {
 protected:
  Upkeep& retention() { return store->upkeep(); }

  Pruned prune(const SessionId& session, const Keep& keep = {}) {
    return must(retention().prune(session, keep));
  }

  /// Replaces the plan and names the position.
  Version plan(const Lease& lease, const std::string& text, const std::string& label = {}) {
    Batch made = batch_of(lease.session, {value(text)});
    made.checkpoint = NewCheckpoint{.reason = "test", .label = label};
    return commit(lease, made).version.value();
  }

  std::vector<Version> versions(const SessionId& session) {
    std::vector<Version> found;
    for (const Checkpoint& one : must(store->log().checkpoints(session, {}))) {
      found.push_back(one.version);
    }
    return found;
  }

  std::optional<ErrorCode> reading(const SessionId& session, Point point) {
    return code_of(store->log().read(session, as_of(point)));
  }

  std::optional<ErrorCode> forking(const SessionId& session, Point point) {
    NewSession made{.id = mint<SessionTag>(fresh)};
    made.origin = NewSession::Origin{.session = session, .at = point};
    return code_of(store->sessions().create(made));
  }
};

INSTANTIATE_TEST_SUITE_P(EveryBackend, PruneContract, testing::ValuesIn(every_form()), name_of);

TEST_P(PruneContract, VersionsThatNoRuleNamesGo) {
  const Lease lease = own(create());
  for (int i = 1; i <= 6; ++i) plan(lease, "plan", i == 2 ? "labelled" : "");

  EXPECT_EQ(prune(lease.session, {.last = 1, .since = {}, .every = 4}).versions, 3U);

  EXPECT_THAT(versions(lease.session), ElementsAre(6, 4, 2));
}

TEST_P(PruneContract, TheNewestSoManyStay) {
  const Lease lease = own(create());
  for (int i = 1; i <= 5; ++i) plan(lease, "plan");

  prune(lease.session, {.last = 2});
  EXPECT_THAT(versions(lease.session), ElementsAre(5, 4));
  prune(lease.session, {.last = 9});
  EXPECT_THAT(versions(lease.session), ElementsAre(5, 4));
  prune(lease.session, {.last = 0});
  EXPECT_THAT(versions(lease.session), ElementsAre());
}

TEST_P(PruneContract, VersionsMadeSinceThenStay) {
  const Lease lease = own(create());
  plan(lease, "old");
  clock.advance(1s);
  plan(lease, "at the time");
  clock.advance(1s);
  plan(lease, "later");

  prune(lease.session, {.last = 0, .since = clock.now() - 1s});

  EXPECT_THAT(versions(lease.session), ElementsAre(3, 2));
}

TEST_P(PruneContract, LabelledVersionsGoWhenToldSo) {
  const Lease lease = own(create());
  plan(lease, "a", "label");
  plan(lease, "b");

  prune(lease.session, {.last = 1, .since = {}, .every = 0, .labelled = false});

  EXPECT_THAT(versions(lease.session), ElementsAre(2));
}

TEST_P(PruneContract, ARemovedVersionIsNotFound) {
  const Lease lease = own(create());
  plan(lease, "a");
  plan(lease, "b");

  prune(lease.session);

  EXPECT_EQ(reading(lease.session, Point::version(1)), ErrorCode::not_found);
  EXPECT_EQ(forking(lease.session, Point::version(1)), ErrorCode::not_found);
  EXPECT_EQ(code_of(store->log().read_checkpoint(lease.session, 1)), ErrorCode::not_found);
}

TEST_P(PruneContract, NumbersOfRemovedVersionsAreNotGivenAgain) {
  const Lease lease = own(create());
  plan(lease, "a");
  plan(lease, "b");

  prune(lease.session, {.last = 0});

  EXPECT_EQ(row(lease.session).version, 2U);
  EXPECT_EQ(plan(lease, "c"), 3U);
}

TEST_P(PruneContract, EntriesSupersededBeforeTheNextKeptVersionGo) {
  const Lease lease = own(create());
  commit(lease, batch_of(lease.session, {value("first"), message("hello"), value("second")}));
  checkpoint(lease);
  commit(lease, batch_of(lease.session, {value("third"), value("fourth")}));

  const Pruned pruned = prune(lease.session);

  EXPECT_EQ(pruned, (Pruned{.versions = 0, .entries = 2, .bytes = 10}));
  EXPECT_THAT(texts(lease.session), ElementsAre("hello", "second", "fourth"));
  EXPECT_THAT(texts(lease.session, as_of(Point::version(1))), ElementsAre("hello", "second"));
}

TEST_P(PruneContract, EntriesThatAreNeverReplacedStay) {
  const Lease lease = own(create());
  for (int i = 0; i < 5; ++i) say(lease, "hello");
  checkpoint(lease);
  say(lease, "bye");

  EXPECT_EQ(prune(lease.session, {.last = 0}).entries, 0U);
  EXPECT_EQ(texts(lease.session).size(), 6U);
}

TEST_P(PruneContract, WhatIsLeftKeepsItsPlaceToTheByte) {
  const Lease lease = own(create());
  for (int i = 0; i < 4; ++i) {
    commit(lease, batch_of(lease.session, {value("plan"), message("text")}));
  }
  checkpoint(lease);
  const auto before = must(store->log().read(lease.session, {}));

  prune(lease.session);

  std::vector<Entry> expected;
  for (const Entry& entry : before) {
    if (entry.channel == "transcript" || entry.position == 7) expected.push_back(entry);
  }
  EXPECT_EQ(must(store->log().read(lease.session, {})), expected);
}

TEST_P(PruneContract, WhatABranchHasLeftGoes) {
  const Lease lease = own(create());
  say(lease, "shared");
  checkpoint(lease);
  say(lease, "left");
  branch(lease, Point::version(1), "taken");

  EXPECT_EQ(prune(lease.session).entries, 1U);

  EXPECT_THAT(texts(lease.session), ElementsAre("shared", "taken"));
  EXPECT_EQ(reading(lease.session, Point::position(2)), ErrorCode::not_found);
}

TEST_P(PruneContract, AVersionOnALeftLineKeepsWhatLeadsThere) {
  const Lease lease = own(create());
  const Position first = say(lease, "shared").head;
  say(lease, "left");
  checkpoint(lease, "keep");
  say(lease, "after it");
  branch(lease, Point::position(first), "taken");

  EXPECT_EQ(prune(lease.session).entries, 1U);

  EXPECT_THAT(texts(lease.session, as_of(Point::version(1))), ElementsAre("shared", "left"));
}

TEST_P(PruneContract, WhatAForkCanSeeStays) {
  const Lease lease = own(create());
  commit(lease, batch_of(lease.session, {value("old"), message("hello")}));
  const SessionId other = fork("fork", lease.session, Point::head());
  commit(lease, batch_of(lease.session, {value("new")}));
  const auto before = must(store->log().read(other, {}));

  EXPECT_EQ(prune(lease.session, {.last = 0}).entries, 0U);

  EXPECT_EQ(must(store->log().read(other, {})), before);
}

TEST_P(PruneContract, WhereABranchLeavesALineIsKept) {
  const Lease lease = own(create());
  commit(lease, batch_of(lease.session, {value("old")}));
  commit(lease, batch_of(lease.session, {value("new")}));
  branch(lease, Point::position(1), "from the old one");

  EXPECT_EQ(prune(lease.session, {.last = 0}).entries, 1U);

  EXPECT_THAT(texts(lease.session), ElementsAre("old", "from the old one"));
}

TEST_P(PruneContract, PointsThatSawADroppedEntryAreGone) {
  const Lease lease = own(create());
  // Positions 1 to 6: only the plan at 2 is dropped, which 2 to 4 can see.
  for (const char* text : {"a", "", "b", "c", "", "d"}) {
    commit(lease, batch_of(lease.session, {*text == '\0' ? value("plan") : message(text)}));
  }
  prune(lease.session);

  for (const Position gone : {2U, 3U, 4U}) {
    EXPECT_EQ(reading(lease.session, Point::position(gone)), ErrorCode::not_found) << gone;
    EXPECT_EQ(forking(lease.session, Point::position(gone)), ErrorCode::not_found) << gone;
  }
  for (const Position kept : {0U, 1U, 5U, 6U}) {
    EXPECT_EQ(reading(lease.session, Point::position(kept)), std::nullopt) << kept;
    EXPECT_EQ(forking(lease.session, Point::position(kept)), std::nullopt) << kept;
  }
}

TEST_P(PruneContract, ABranchFromAPointThatIsGoneIsRefused) {
  const Lease lease = own(create());
  commit(lease, batch_of(lease.session, {value("old")}));
  commit(lease, batch_of(lease.session, {value("new")}));
  prune(lease.session);

  Batch made = batch_of(lease.session, {message("no")});
  made.branch_from = Point::position(1);

  EXPECT_EQ(code_of(store->commit(lease, made)), ErrorCode::invalid_argument);
}

TEST_P(PruneContract, ADroppedEntryIsNoArgumentOfACall) {
  const Lease lease = own(create());
  commit(lease, batch_of(lease.session, {value("old")}));
  commit(lease, batch_of(lease.session, {value("new")}));
  prune(lease.session);

  Batch made = batch_of(lease.session, {message("call")});
  made.calls = {Intend{.call = 3, .args = 1, .tool = "send"}};

  EXPECT_EQ(code_of(store->commit(lease, made)), ErrorCode::invalid_argument);
}

TEST_P(PruneContract, TotalsCountWhatWasDropped) {
  const Lease lease = own(create());
  for (std::int64_t i = 1; i <= 4; ++i) {
    Batch made = batch_of(lease.session, {value("plan")});
    made.entries.front().tally = {.turns = i, .cost_micros = 100 * i};
    made.checkpoint = NewCheckpoint{};
    commit(lease, made);
  }
  say(lease, "end");
  prune(lease.session, {.last = 0, .since = {}, .every = 3});

  EXPECT_EQ(row(lease.session).tally, (Tally{.turns = 10, .cost_micros = 1000}));
  EXPECT_EQ(must(store->log().read_checkpoint(lease.session, 3)).tally.turns, 6);
  EXPECT_EQ(row(fork("at v3", lease.session, Point::version(3))).tally.turns, 6);
  EXPECT_EQ(row(fork("at 4", lease.session, Point::position(4))).tally.turns, 10);
  must(retention().forget(lease.session, 3));
  EXPECT_EQ(row(fork("at head", lease.session, Point::position(5))).tally.turns, 10);
  branch(lease, Point::position(4), "again");
  EXPECT_EQ(row(lease.session).tally.turns, 10);
}

TEST_P(PruneContract, ForgettingTakesOneVersionAndWhatOnlyItCouldSee) {
  const Lease lease = own(create());
  for (const char* text : {"a", "bb", "ccc"}) plan(lease, text);

  EXPECT_EQ(must(retention().forget(lease.session, 2)),
            (Pruned{.versions = 1, .entries = 1, .bytes = 2}));

  EXPECT_THAT(versions(lease.session), ElementsAre(3, 1));
  EXPECT_THAT(texts(lease.session), ElementsAre("a", "ccc"));
}

TEST_P(PruneContract, ForgettingAVersionThatSharesItsPositionDropsNothing) {
  const Lease lease = own(create());
  plan(lease, "a");
  checkpoint(lease);
  plan(lease, "b");

  EXPECT_EQ(must(retention().forget(lease.session, 2)).entries, 0U);
  EXPECT_EQ(must(retention().forget(lease.session, 1)).entries, 1U);
}

TEST_P(PruneContract, ForgettingWhatIsNotThereIsNotFound) {
  const Lease lease = own(create());
  plan(lease, "a");
  must(retention().forget(lease.session, 1));

  EXPECT_EQ(code_of(retention().forget(lease.session, 1)), ErrorCode::not_found);
  EXPECT_EQ(code_of(retention().forget(lease.session, 7)), ErrorCode::not_found);
  EXPECT_EQ(code_of(retention().forget(session_id("nobody"), 1)), ErrorCode::not_found);
  EXPECT_EQ(code_of(retention().prune(session_id("nobody"), {})), ErrorCode::not_found);
}

TEST_P(PruneContract, NeitherNeedsALeaseNorDisturbsTheOwner) {
  const Lease lease = own(create());
  commit(lease, batch_of(lease.session, {value("old"), value("new")}));
  const SessionSummary before = row(lease.session);
  const Batch waiting = batch_of(lease.session, {message("next")});

  prune(lease.session);

  EXPECT_EQ(row(lease.session), before);
  EXPECT_EQ(commit(lease, waiting).first, 3U);
}

TEST_P(PruneContract, DoingItAgainFindsNothingLeft) {
  const Lease lease = own(create());
  for (int i = 0; i < 5; ++i) plan(lease, "plan");
  prune(lease.session);

  EXPECT_EQ(prune(lease.session), Pruned{});
}

TEST_P(PruneContract, AHistoryOfManySlicesIsPrunedAsAWhole) {
  const Lease lease = own(create());
  Batch made = batch(lease.session);
  for (int i = 0; i < 700; ++i) {
    made.entries.push_back(value("12345", i % 7 == 0 ? "rare" : "plan"));
    made.entries.push_back(message("text"));
  }
  commit(lease, made);
  for (int i = 0; i < 600; ++i) checkpoint(lease, i == 10 ? "keep" : "");
  std::uint64_t done = 0;
  const auto pruned = must(retention().prune(lease.session, {}, [&](const Step& step) {
    EXPECT_LE(step.done, step.total);
    done = step.done;
    return true;
  }));

  EXPECT_EQ(pruned, (Pruned{.versions = 598, .entries = 698, .bytes = std::uint64_t{698} * 5}));
  EXPECT_EQ(texts(lease.session).size(), 702U);
  EXPECT_GT(done, 0U);
}

TEST_P(PruneContract, WorkThatIsStoppedIsDoneTheNextTime) {
  const Lease lease = own(create());
  Batch made = batch(lease.session);
  for (int i = 0; i < 1000; ++i) made.entries.push_back(value("plan"));
  commit(lease, made);

  const auto first = must(retention().prune(lease.session, {}, [](const Step&) { return false; }));
  const auto second = prune(lease.session);

  EXPECT_EQ(first.entries + second.entries, 999U);
  EXPECT_THAT(texts(lease.session), ElementsAre("plan"));
}

}  // namespace
}  // namespace perdure
