// Lines of history made executable: branches (same session) and forks (another one).
// tests/property/history_test.cpp compares them with a naive model.

#include "contract/store_contract.hpp"
#include "store/api/lookup.hpp"

namespace perdure {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class LinesContract : public StoreContract {
 protected:
  std::vector<SegmentId> line(const SessionId& of, Point point = {}) {
    std::vector<SegmentId> found;
    for (const Segment& one : must(store->lookup().line(of, point))) found.push_back(one.id);
    return found;
  }

  SessionId session = create();
  Lease lease = own(session);
};

INSTANTIATE_TEST_SUITE_P(EveryBackend, LinesContract, testing::ValuesIn(every_form()), name_of);

TEST_P(LinesContract, ABranchGoesOnFromAnOldPosition) {
  for (const auto* text : {"one", "two", "three"}) say(lease, text);

  const Receipt receipt = branch(lease, Point::position(1), "another two");

  EXPECT_EQ(receipt.first, 4U);
  EXPECT_EQ(receipt.head, 4U);
  EXPECT_THAT(texts(session), ElementsAre("one", "another two"));
  EXPECT_THAT(positions(session), ElementsAre(1U, 4U));
}

TEST_P(LinesContract, ABranchGoesOnFromAVersion) {
  say(lease, "one");
  checkpoint(lease);
  say(lease, "two");

  branch(lease, Point::version(1), "another two");

  EXPECT_THAT(texts(session), ElementsAre("one", "another two"));
}

TEST_P(LinesContract, ABranchGoesOnFromTheHead) {
  say(lease, "one");

  branch(lease, Point::head(), "two");

  EXPECT_THAT(texts(session), ElementsAre("one", "two"));
  EXPECT_EQ(line(session).size(), 2U);
}

TEST_P(LinesContract, ABranchFromBeforeAllBeginsAnew) {
  say(lease, "one");

  branch(lease, Point::position(0), "first again");

  EXPECT_THAT(texts(session), ElementsAre("first again"));
  EXPECT_THAT(positions(session), ElementsAre(2U));
}

TEST_P(LinesContract, ABranchWithoutEntriesMovesTheHead) {
  for (const auto* text : {"one", "two", "three"}) say(lease, text);
  Batch made = batch(session);
  made.branch_from = Point::position(2);

  const Receipt receipt = commit(lease, made);

  EXPECT_EQ(receipt.head, 2U);
  EXPECT_EQ(row(session).head, 2U);
  EXPECT_EQ(row(session).next, 4U);
  EXPECT_THAT(texts(session), ElementsAre("one", "two"));
  EXPECT_EQ(say(lease, "four").first, 4U);
  EXPECT_THAT(texts(session), ElementsAre("one", "two", "four"));
}

// The head alone does not tell a repetition from a first commit.
TEST_P(LinesContract, ARepeatIsFoundWhenTheSessionWentBackToWhereItBegan) {
  say(lease, "one");
  const Batch made = batch_of(session, {message("two")});
  const Receipt first = commit(lease, made);
  Batch back = batch(session);
  back.branch_from = Point::position(1);
  commit(lease, back);
  ASSERT_EQ(row(session).head, made.expected_head);
  const auto before = everything(*store);

  EXPECT_EQ(commit(lease, made), first);
  EXPECT_EQ(everything(*store), before);
}

TEST_P(LinesContract, NoPositionIsUsedTwice) {
  for (const auto* text : {"one", "two"}) say(lease, text);
  branch(lease, Point::position(1), "three");
  branch(lease, Point::position(1), "four");
  branch(lease, Point::position(2), "five");

  EXPECT_THAT(positions(session), ElementsAre(1U, 2U, 5U));
  EXPECT_EQ(row(session).next, 6U);
}

TEST_P(LinesContract, WhatABranchLeftCanStillBeRead) {
  for (const auto* text : {"one", "two", "three"}) say(lease, text);
  checkpoint(lease);
  branch(lease, Point::position(1), "four");

  EXPECT_THAT(texts(session, as_of(Point::position(3))), ElementsAre("one", "two", "three"));
  EXPECT_THAT(texts(session, as_of(Point::position(2))), ElementsAre("one", "two"));
  EXPECT_THAT(texts(session, as_of(Point::version(1))), ElementsAre("one", "two", "three"));
  EXPECT_THAT(texts(session, {.from = 2, .to = 3}), IsEmpty());
}

TEST_P(LinesContract, ABranchCanGoOnFromALineThatWasLeft) {
  for (const auto* text : {"one", "two", "three"}) say(lease, text);
  branch(lease, Point::position(1), "four");

  branch(lease, Point::position(2), "five");

  EXPECT_THAT(texts(session), ElementsAre("one", "two", "five"));
  EXPECT_THAT(texts(session, as_of(Point::position(4))), ElementsAre("one", "four"));
}

TEST_P(LinesContract, ReadingBackwardsCrossesBranches) {
  for (const auto* text : {"one", "two", "three"}) say(lease, text);
  branch(lease, Point::position(2), "four");
  branch(lease, Point::head(), "five");

  EXPECT_THAT(texts(session, {.order = Order::newest_first}),
              ElementsAre("five", "four", "two", "one"));
  EXPECT_THAT(texts(session, {.order = Order::newest_first, .limit = 3}),
              ElementsAre("five", "four", "two"));
}

TEST_P(LinesContract, AValueIsFoundOnItsLineOnly) {
  commit(lease, batch_of(session, {value("a")}));
  commit(lease, batch_of(session, {value("b")}));
  branch(lease, Point::position(1), "elsewhere");

  const auto now = must(store->log().find_value(session, "plan", {}));
  const auto left = must(store->log().find_value(session, "plan", Point::position(2)));

  EXPECT_EQ(now->body.bytes(), "a");
  EXPECT_EQ(left->body.bytes(), "b");
}

TEST_P(LinesContract, ABranchReturnsToTheTotalsAtItsPoint) {
  const auto spend = [&](std::int64_t cost, std::optional<Point> from) {
    Batch made = batch_of(session, {message("x")});
    made.entries[0].tally = {.turns = 1, .cost_micros = cost};
    made.branch_from = from;
    commit(lease, made);
    return row(session).tally;
  };
  spend(1, {});
  spend(20, {});
  spend(300, {});

  EXPECT_EQ(spend(4'000, Point::position(2)), (Tally{.turns = 3, .cost_micros = 4'021}));
  EXPECT_EQ(spend(50'000, Point::position(3)), (Tally{.turns = 4, .cost_micros = 50'321}));
  EXPECT_EQ(spend(6, Point::position(0)), (Tally{.turns = 1, .cost_micros = 6}));
}

TEST_P(LinesContract, VersionsGoOnCountingAcrossBranches) {
  say(lease, "one");
  checkpoint(lease);
  say(lease, "two");
  checkpoint(lease);
  branch(lease, Point::version(1), "three");

  EXPECT_EQ(checkpoint(lease), 3U);
  EXPECT_EQ(must(store->log().checkpoints(session, {})).size(), 3U);
  EXPECT_THAT(texts(session, as_of(Point::version(2))), ElementsAre("one", "two"));
  EXPECT_THAT(texts(session, as_of(Point::version(3))), ElementsAre("one", "three"));
}

TEST_P(LinesContract, ABranchNeedsAPointOfTheSession) {
  say(lease, "one");
  const auto before = everything(*store);
  for (const Point point : {Point::version(1), Point::version(0), Point::position(2)}) {
    Batch made = batch_of(session, {message("two")});
    made.branch_from = point;
    EXPECT_EQ(code_of(store->commit(lease, made)), ErrorCode::invalid_argument) << describe(point);
  }
  EXPECT_EQ(everything(*store), before);
}

TEST_P(LinesContract, SegmentsAreNumberedInOrderOfCreation) {
  say(lease, "one");
  EXPECT_THAT(line(session), ElementsAre(1U));
  branch(lease, Point::position(1), "two");
  EXPECT_THAT(line(session), ElementsAre(1U, 2U));
  const SessionId forked = fork("fork", session, Point::position(2));
  EXPECT_THAT(line(forked), ElementsAre(1U, 2U, 3U));
  EXPECT_THAT(line(create("new")), ElementsAre(4U));
  branch(lease, Point::position(1), "three");
  EXPECT_THAT(line(session), ElementsAre(1U, 5U));
  EXPECT_THAT(line(session, Point::position(2)), ElementsAre(1U, 2U));
}

TEST_P(LinesContract, ASegmentSaysWhereItLeavesItsParent) {
  for (const auto* text : {"one", "two", "three"}) say(lease, text);
  branch(lease, Point::position(2), "four");
  const SessionId forked = fork("fork", session, Point::head());

  EXPECT_THAT(must(store->lookup().line(forked, {})),
              ElementsAre(Segment{1, session, 1, std::nullopt, 0}, Segment{2, session, 4, 1, 2},
                          Segment{3, forked, 5, 2, 4}));
}

TEST_P(LinesContract, AForkHasEverythingUpToThePoint) {
  for (const auto* text : {"one", "two", "three"}) say(lease, text);

  const SessionId forked = fork("fork", session, Point::position(2));

  EXPECT_THAT(texts(forked), ElementsAre("one", "two"));
  EXPECT_EQ(row(forked).head, 2U);
  EXPECT_EQ(row(forked).next, 3U);
  EXPECT_EQ(row(forked).version, 0U);
  EXPECT_EQ(row(forked).parent, (Parent{session, 2, Lineage::fork}));
}

TEST_P(LinesContract, AForkOfAVersionNamesItsPosition) {
  say(lease, "one");
  checkpoint(lease);
  say(lease, "two");

  const SessionId forked = fork("fork", session, Point::version(1));

  EXPECT_EQ(row(forked).parent->position, 1U);
  EXPECT_THAT(texts(forked), ElementsAre("one"));
}

TEST_P(LinesContract, AForkAndItsParentGoTheirOwnWays) {
  say(lease, "one");
  const Lease forked = own(fork("fork", session, Point::head()));

  say(forked, "in the fork");
  say(lease, "in the parent");

  EXPECT_THAT(texts(session), ElementsAre("one", "in the parent"));
  EXPECT_THAT(texts(forked.session), ElementsAre("one", "in the fork"));
  EXPECT_THAT(positions(forked.session), ElementsAre(1U, 2U));
}

TEST_P(LinesContract, AForkFromBeforeAllIsEmpty) {
  say(lease, "one");
  const Lease forked = own(fork("fork", session, Point::position(0)));

  EXPECT_THAT(texts(forked.session), IsEmpty());
  EXPECT_EQ(say(forked, "first").first, 1U);
  EXPECT_THAT(texts(forked.session), ElementsAre("first"));
}

TEST_P(LinesContract, AForkOfALeftLineFollowsThatLine) {
  for (const auto* text : {"one", "two", "three"}) say(lease, text);
  branch(lease, Point::position(1), "four");

  EXPECT_THAT(texts(fork("fork", session, Point::position(3))), ElementsAre("one", "two", "three"));
}

TEST_P(LinesContract, AForkDoesNotReachWhatItsParentHasBesidesTheLine) {
  for (const auto* text : {"one", "two", "three"}) say(lease, text);
  branch(lease, Point::position(1), "four");
  say(lease, "five");
  const SessionId forked = fork("fork", session, Point::position(4));

  for (const Position beside : {2U, 3U, 5U}) {
    EXPECT_EQ(code_of(store->log().read(forked, as_of(Point::position(beside)))),
              ErrorCode::not_found)
        << beside;
  }
  EXPECT_THAT(texts(forked, as_of(Point::position(1))), ElementsAre("one"));
}

TEST_P(LinesContract, AForkBranchesFromWhatItInherited) {
  for (const auto* text : {"one", "two", "three"}) say(lease, text);
  const Lease forked = own(fork("fork", session, Point::position(3)));

  branch(forked, Point::position(1), "in the fork");

  EXPECT_THAT(texts(forked.session), ElementsAre("one", "in the fork"));
  EXPECT_THAT(positions(forked.session), ElementsAre(1U, 4U));
  EXPECT_THAT(texts(session), ElementsAre("one", "two", "three"));
  EXPECT_THAT(texts(forked.session, as_of(Point::position(3))), ElementsAre("one", "two", "three"));
}

TEST_P(LinesContract, AForkCanBeForked) {
  say(lease, "one");
  const Lease first = own(fork("first", session, Point::head()));
  say(first, "two");
  const Lease second = own(fork("second", first.session, Point::head()));
  say(second, "three");
  const SessionId third = fork("third", second.session, Point::position(1));

  EXPECT_THAT(texts(second.session), ElementsAre("one", "two", "three"));
  EXPECT_THAT(texts(third), ElementsAre("one"));
  EXPECT_THAT(texts(second.session, {.order = Order::newest_first, .limit = 2}),
              ElementsAre("three", "two"));
}

TEST_P(LinesContract, AForkStartsWithTheTotalsAtItsPoint) {
  Batch made = batch_of(session, {message("a"), message("b"), message("c")});
  for (auto& entry : made.entries) entry.tally = {.turns = 1, .tokens_in = 10};
  commit(lease, made);

  EXPECT_EQ(row(fork("two", session, Point::position(2))).tally,
            (Tally{.turns = 2, .tokens_in = 20}));
  EXPECT_EQ(row(fork("none", session, Point::position(0))).tally, Tally{});
}

TEST_P(LinesContract, AForkHasCheckpointsOfItsOwnOnly) {
  say(lease, "one");
  checkpoint(lease);
  const Lease forked = own(fork("fork", session, Point::head()));

  EXPECT_THAT(must(store->log().checkpoints(forked.session, {})), IsEmpty());
  EXPECT_EQ(code_of(store->log().read_checkpoint(forked.session, 1)), ErrorCode::not_found);
  EXPECT_EQ(checkpoint(forked), 1U);
}

TEST_P(LinesContract, AForkFindsInheritedValues) {
  commit(lease, batch_of(session, {value("a"), value("b")}));
  const SessionId forked = fork("fork", session, Point::position(1));

  EXPECT_EQ(must(store->log().find_value(forked, "plan", {}))->body.bytes(), "a");
}

TEST_P(LinesContract, AForkKnowsNoBatchOfItsParent) {
  const Receipt receipt = say(lease, "one");
  const Lease forked = own(fork("fork", session, Point::head()));

  EXPECT_EQ(must(store->lookup().find_receipt(forked.session, receipt.batch)), std::nullopt);
  Batch made{.id = receipt.batch, .expected_head = 1};
  made.entries = {message("two")};
  commit(forked, made);
  EXPECT_THAT(texts(forked.session), ElementsAre("one", "two"));
}

TEST_P(LinesContract, AForkHasItsOwnOwnerInboxAndAnnotation) {
  must(store->sessions().annotate(session, {.title = "Parent"}));
  post(session, "m1");

  const SessionId forked = fork("fork", session, Point::head());

  EXPECT_EQ(row(forked).holder, std::nullopt);
  EXPECT_EQ(row(forked).title, "");
  EXPECT_THAT(must(store->inbox().list(forked, 10)), IsEmpty());
}

}  // namespace
}  // namespace perdure
