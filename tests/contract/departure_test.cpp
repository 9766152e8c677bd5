// transfer.hpp made executable, at the source of a move, and what the other headers say of sessions that
// are moved.

#include "contract/store_contract.hpp"
#include "contract/transfer_contract.hpp"
#include "contract/travel.hpp"
#include "perdure/store/transfer.hpp"

namespace perdure {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

INSTANTIATE_TEST_SUITE_P(EveryBackend, TransferContract, testing::ValuesIn(every_form()), name_of);

TEST_P(TransferContract, ASessionThatIsMovedIsGrantedToNobody) {
  const SessionId session = said("session");
  const WorkerId worker = enroll("other");
  const Passage move = depart();

  const auto moving = store->ownership().acquire(session, worker);
  EXPECT_EQ(code_of(moving), ErrorCode::conflict);
  EXPECT_EQ(subject_of(moving), "there.db");

  must(transfer().end(move, MoveEnd::moved));
  const auto moved = store->ownership().acquire(session, worker);
  EXPECT_EQ(code_of(moved), ErrorCode::conflict);
  EXPECT_EQ(subject_of(moved), "there.db");
}

TEST_P(TransferContract, AnOutdatedOwnerOfItWritesNothing) {
  const Lease lease = own(create());
  const Batch known = batch_of(lease.session, {message("one")});
  const Receipt receipt = commit(lease, known);
  clock.advance(31s);
  depart();

  EXPECT_EQ(code_of(store->commit(lease, batch_of(lease.session, {message("two")}))),
            ErrorCode::lease_lost);
  EXPECT_EQ(must(store->commit(lease, known)), receipt);
  EXPECT_THAT(texts(lease.session), ElementsAre("one"));
}

TEST_P(TransferContract, NoSessionGoesWhileALiveWorkerOwnsOne) {
  own(create("owned"));
  const SessionId free = said("free");

  const auto refused = transfer().depart(there, {});

  EXPECT_EQ(code_of(refused), ErrorCode::lease_held);
  EXPECT_EQ(subject_of(refused), "worker");
  EXPECT_EQ(row(free).moved_to, "");
  EXPECT_EQ(must(transfer().find_departure("sto_there")), Departure{});
}

// As a move would hand them over, and nobody notices.
TEST_P(TransferContract, SessionsAreShownWhereTheyAre) {
  const SessionId session = said("session");
  const SessionId other = said("other");
  const SessionSummary before = row(session);
  const Passage shown = must(transfer().show({session}));

  const FactSlice first = must(transfer().read(shown, {}));

  ASSERT_EQ(first.facts.size(), 1U);
  EXPECT_EQ(std::get<SessionFact>(first.facts[0]).row->summary, before);
  std::vector<std::string> said_there;
  for (FactCursor next = first.next; !next.is_end();) {
    const FactSlice slice = must(transfer().read(shown, next));
    for (const Fact& fact : slice.facts) {
      if (const auto* entry = std::get_if<Entry>(&fact)) said_there.push_back(entry->body.bytes());
    }
    next = slice.next;
  }
  EXPECT_THAT(said_there, SizeIs(1));
  EXPECT_EQ(row(session), before);
  EXPECT_EQ(must(transfer().show({})).owners.size(), 2U);
  own(other);
  EXPECT_EQ(code_of(transfer().show({})), ErrorCode::lease_held);
  EXPECT_TRUE(transfer().show({session, session}));
  say(own(session), "goes on");
  EXPECT_GT(std::get<SessionFact>(must(transfer().read(shown, {})).facts[0]).row->summary.revision,
            before.revision);
}

TEST_P(TransferContract, OnlyWhatIsHereAndWholeIsShown) {
  const SessionId parent = said("parent");
  fork("fork", parent, Point::head());
  const SessionId gone = said("gone");
  must(transfer().end(depart({gone}), MoveEnd::moved));

  EXPECT_EQ(code_of(transfer().show({session_id("nobody")})), ErrorCode::not_found);
  EXPECT_EQ(subject_of(transfer().show({gone})), "there.db");
  const auto torn = transfer().show({parent});
  EXPECT_EQ(code_of(torn), ErrorCode::conflict);
  EXPECT_EQ(subject_of(torn), "fork");
  EXPECT_EQ(must(transfer().show({})).owners.size(), 2U);
  EXPECT_EQ(must(transfer().show({parent, session_id("fork")})).owners.size(), 2U);
  must(store->upkeep().remove(parent));
  EXPECT_EQ(must(transfer().show({session_id("fork")})).owners.size(), 2U)
      << "with the removed one whose log it shares";
}

TEST_P(TransferContract, ItSaysWhereItWentAndCanBeRead) {
  const SessionId session = said("session");
  const SessionSummary before = row(session);
  const Passage move = depart();
  EXPECT_EQ(row(session).moved_to, "there.db");
  EXPECT_TRUE(row(session).moving);
  must(transfer().end(move, MoveEnd::moved));

  const SessionSummary after = row(session);
  EXPECT_EQ(after.moved_to, "there.db");
  EXPECT_FALSE(after.moving);
  EXPECT_EQ(after.status, before.status);
  EXPECT_EQ(after.updated_at, before.updated_at);
  EXPECT_GT(after.revision, before.revision);
  EXPECT_FALSE(after.is_interrupted());
  EXPECT_THAT(texts(session), ElementsAre("hello"));
  EXPECT_EQ(must(store->sessions().list({})).sessions.at(0).moved_to, "there.db");
}

TEST_P(TransferContract, ItIsNeverDueAndNeedsNoAttention) {
  const Lease lease = own(create());
  say(lease, "hello");
  in_state(lease, CallState::in_doubt);
  must(store->ownership().release(lease));
  ASSERT_THAT(must(store->sessions().due(10)), SizeIs(1));
  ASSERT_TRUE(row(lease.session).needs_attention());

  depart();

  EXPECT_THAT(must(store->sessions().due(10)), SizeIs(0));
  EXPECT_FALSE(row(lease.session).needs_attention());
  SessionQuery query;
  query.needs_attention = true;
  EXPECT_THAT(must(store->sessions().list(query)).sessions, SizeIs(0));
}

TEST_P(TransferContract, NothingIsAddedToIt) {
  const SessionId session = said("session");
  const Passage move = depart();
  for (const bool ended : {false, true}) {
    if (ended) must(transfer().end(move, MoveEnd::moved));
    const auto posted =
        store->inbox().post({session, message_id("m"), "note", Body::from_bytes("x")});
    EXPECT_EQ(code_of(posted), ErrorCode::conflict);
    EXPECT_EQ(subject_of(posted), "there.db");
    EXPECT_EQ(code_of(store->sessions().annotate(session, {.title = "new"})), ErrorCode::conflict);
    for (const Lineage lineage : {Lineage::fork, Lineage::child}) {
      const auto made = store->sessions().create(
          {.id = session_id("other"), .origin = NewSession::Origin{session, {}, lineage}});
      EXPECT_EQ(code_of(made), ErrorCode::conflict);
      EXPECT_EQ(subject_of(made), "there.db");
    }
  }
}

TEST_P(TransferContract, ACommitMakesNoChildOfIt) {
  const SessionId session = said("session");
  depart();
  const Lease lease = own(create("other"));
  Batch spawn = batch(lease.session);
  spawn.children.push_back(
      {.id = session_id("child"), .origin = NewSession::Origin{session, {}, Lineage::child}});

  EXPECT_EQ(code_of(store->commit(lease, spawn)), ErrorCode::conflict);
}

TEST_P(TransferContract, NothingIsForgottenOfItWhileItMoves) {
  const Lease lease = own(create());
  say(lease, "hello");
  checkpoint(lease);
  must(store->ownership().release(lease));
  const Passage move = depart();

  Upkeep& retention = store->upkeep();
  EXPECT_EQ(code_of(retention.prune(lease.session, {})), ErrorCode::conflict);
  EXPECT_EQ(code_of(retention.forget(lease.session, 1)), ErrorCode::conflict);
  EXPECT_EQ(code_of(retention.erase(lease.session, {1})), ErrorCode::conflict);
  EXPECT_EQ(code_of(retention.remove(lease.session)), ErrorCode::conflict);
  EXPECT_EQ(subject_of(retention.remove(lease.session)), "there.db");
  EXPECT_THAT(texts(lease.session), ElementsAre("hello"));

  must(transfer().end(move, MoveEnd::moved));
  EXPECT_TRUE(retention.forget(lease.session, 1));
  EXPECT_TRUE(retention.erase(lease.session, {1}));
  EXPECT_TRUE(retention.prune(lease.session, {}));
}

TEST_P(TransferContract, OnceMovedItCanBeRemovedThoughCallsAreOpenAndKeepsItsKeys) {
  const Lease lease = own(create());
  say(lease, "hello");
  const Position call = in_state(lease, CallState::in_doubt, key);
  must(store->ownership().release(lease));
  must(transfer().end(depart(), MoveEnd::moved));

  EXPECT_TRUE(store->upkeep().remove(lease.session));

  EXPECT_EQ(code_of(store->sessions().read(lease.session)), ErrorCode::not_found);
  const auto holder = must(store->ledger().find_holder(key));
  ASSERT_TRUE(holder);
  EXPECT_EQ(holder->session, lease.session);
  EXPECT_EQ(holder->position, call);
  EXPECT_TRUE(must(store->upkeep().check()).is_sound());
}

TEST_P(TransferContract, AbandonedItIsAsBeforeBehindAHigherFence) {
  const Lease old = own(create());
  say(old, "hello");
  must(store->ownership().release(old));
  must(transfer().end(depart(), MoveEnd::abandoned));

  EXPECT_EQ(row(old.session).moved_to, "");
  EXPECT_FALSE(row(old.session).moving);
  const Lease lease = own(old.session);
  EXPECT_GT(lease.fence, old.fence + 1);
  say(lease, "goes on");
  EXPECT_THAT(texts(old.session), ElementsAre("hello", "goes on"));
}

TEST_P(TransferContract, RelativesGoTogether) {
  const SessionId parent = said("parent");
  const SessionId other = said("stranger");
  fork("fork", parent, Point::head());
  create({.id = session_id("child"), .origin = NewSession::Origin{parent, {}, Lineage::child}});

  for (const auto& [named, left] :
       {std::pair("parent", "child"), std::pair("fork", "child"), std::pair("child", "fork")}) {
    const auto refused = transfer().depart(there, {session_id(named)});
    EXPECT_EQ(code_of(refused), ErrorCode::conflict) << named;
    EXPECT_EQ(subject_of(refused), left) << named;
  }
  EXPECT_TRUE(
      transfer().depart(there, {session_id("parent"), session_id("child"), session_id("fork")}));
  EXPECT_EQ(row(other).moved_to, "");
}

TEST_P(TransferContract, ForksOfARemovedSessionGoTogether) {
  const SessionId grandparent = said("grandparent");
  const SessionId parent = fork("parent", grandparent, Point::head());
  fork("one", parent, Point::head());
  fork("two", parent, Point::head());
  must(store->upkeep().remove(parent));

  EXPECT_EQ(subject_of(transfer().depart(there, {session_id("one"), session_id("two")})),
            "grandparent");
  EXPECT_EQ(subject_of(transfer().depart(there, {session_id("one"), grandparent})), "two");
  EXPECT_TRUE(transfer().depart(there, {session_id("one"), session_id("two"), grandparent}));
}

TEST_P(TransferContract, WhatWentThereBeforeIsLeftOutAndWhatWentElsewhereRefused) {
  const SessionId first = said("first");
  must(transfer().end(depart({first}), MoveEnd::moved));
  const SessionId second = said("second");

  const Destination elsewhere{.incarnation = "sto_elsewhere", .place = "elsewhere"};
  const auto refused = transfer().depart(elsewhere, {first, second});
  EXPECT_EQ(code_of(refused), ErrorCode::conflict);
  EXPECT_EQ(subject_of(refused), "there.db");

  const Passage move = depart({first, second});
  const auto slice = must(transfer().read(move, {}));
  ASSERT_EQ(slice.facts.size(), 1U);
  EXPECT_EQ(std::get<SessionFact>(slice.facts[0]).row->summary.id, second);
}

TEST_P(TransferContract, ADestinationAndSessionsMustBeProper) {
  EXPECT_EQ(code_of(transfer().depart({.incarnation = "sto_there", .place = ""}, {})),
            ErrorCode::invalid_argument);
  EXPECT_EQ(code_of(transfer().depart({.incarnation = "sto_there", .place = "a\nb"}, {})),
            ErrorCode::invalid_argument);
  EXPECT_EQ(code_of(transfer().depart({.incarnation = "", .place = "there"}, {})),
            ErrorCode::invalid_argument);
  EXPECT_EQ(code_of(transfer().depart(there, {session_id("nobody")})), ErrorCode::not_found);
}

TEST_P(TransferContract, WhoTakesAMoveUpAgainOutdatesTheOneBefore) {
  said("session");
  const Departure first = must(transfer().depart(there, {}));
  const Departure second = must(transfer().depart(there, {}));

  EXPECT_GT(second.open, first.open);
  EXPECT_EQ(second.since, first.open);
  EXPECT_EQ(must(transfer().find_departure("sto_there")), second);
  EXPECT_EQ(code_of(transfer().read(departing(there, first), {})), ErrorCode::lease_lost);
  EXPECT_EQ(code_of(transfer().end(departing(there, first), MoveEnd::moved)),
            ErrorCode::lease_lost);
  EXPECT_EQ(code_of(transfer().end(departing(there, first), MoveEnd::abandoned)),
            ErrorCode::lease_lost);
  EXPECT_TRUE(row(session_id("session")).moving);
}

TEST_P(TransferContract, AMoveEndsOneWay) {
  said("session");
  const Passage move = depart();
  must(transfer().end(move, MoveEnd::moved));

  EXPECT_TRUE(transfer().end(move, MoveEnd::moved));
  EXPECT_EQ(code_of(transfer().end(move, MoveEnd::abandoned)), ErrorCode::conflict);
  EXPECT_EQ(must(transfer().find_departure("sto_there")), (Departure{.finished = move.ticket}));
  EXPECT_EQ(row(session_id("session")).moved_to, "there.db");

  said("another");
  const Passage other = depart();
  must(transfer().end(other, MoveEnd::abandoned));
  EXPECT_TRUE(transfer().end(other, MoveEnd::abandoned));
  EXPECT_EQ(code_of(transfer().end(other, MoveEnd::moved)), ErrorCode::conflict);
  EXPECT_EQ(row(session_id("another")).moved_to, "");
}

}  // namespace
}  // namespace perdure
