// transfer.hpp made executable, at the source of a move, and what the other headers say of sessions that
// were moved.

#include "contract/store_contract.hpp"
#include "contract/transfer_contract.hpp"
#include "store/api/lookup.hpp"
#include "store/api/transfer.hpp"

namespace perdure {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

INSTANTIATE_TEST_SUITE_P(EveryBackend, TransferContract, testing::ValuesIn(every_form()), name_of);

TEST_P(TransferContract, ASessionThatIsMovedIsGrantedToNobody) {
  const SessionId session = said("session");
  must(mark());

  const auto moved = store->ownership().acquire(session, enroll("other"));

  EXPECT_EQ(code_of(moved), ErrorCode::conflict);
  EXPECT_EQ(subject_of(moved), "there.db");
}

TEST_P(TransferContract, AnOutdatedOwnerOfItWritesNothing) {
  const Lease lease = own(create());
  const Batch known = batch_of(lease.session, {message("one")});
  const Receipt receipt = commit(lease, known);
  clock.advance(31s);
  must(mark());

  EXPECT_EQ(code_of(store->commit(lease, batch_of(lease.session, {message("two")}))),
            ErrorCode::lease_lost);
  EXPECT_EQ(must(store->commit(lease, known)), receipt);
  EXPECT_THAT(texts(lease.session), ElementsAre("one"));
}

TEST_P(TransferContract, NoSessionGoesWhileALiveWorkerOwnsOne) {
  own(create("owned"));
  const SessionId free = said("free");

  const auto refused = mark();

  EXPECT_EQ(code_of(refused), ErrorCode::lease_held);
  EXPECT_EQ(subject_of(refused), "worker");
  EXPECT_EQ(row(free).moved_to, "");
}

// One that has changed keeps all of them here.
TEST_P(TransferContract, AChangeSinceTheFactsWereReadRefusesTheMark) {
  const SessionId changed = said("changed");
  const SessionId other = said("other");
  const auto expect_refused = [&](const std::vector<SessionVersion>& before) {
    const auto refused = transfer().mark_moved(there, ++attempts, before);
    EXPECT_EQ(code_of(refused), ErrorCode::conflict);
    EXPECT_EQ(subject_of(refused), "changed");
    EXPECT_EQ(row(changed).moved_to, "");
    EXPECT_EQ(row(other).moved_to, "");
  };

  auto before = versions();
  must(store->inbox().post({changed, message_id("m"), "note", Body::from_bytes("x")}));
  expect_refused(before);
  before = versions();
  must(store->sessions().annotate(changed, {.title = "new"}));
  expect_refused(before);
  before = versions();
  must(store->upkeep().erase(changed, {1}));
  expect_refused(before);
  before = versions();
  must(store->ownership().release(own(changed)));
  expect_refused(before);
  before = versions();
  const Lease lease = own(changed);
  say(lease, "more");
  must(store->ownership().release(lease));
  expect_refused(before);

  before = versions();
  EXPECT_TRUE(transfer().mark_moved(there, ++attempts, before));
}

TEST_P(TransferContract, AnAttemptThatWasMarkedStaysMarked) {
  const SessionId session = said("session");
  const auto before = versions();
  EXPECT_EQ(code_of(transfer().mark_moved(there, 7, {})), ErrorCode::conflict);
  must(transfer().mark_moved(there, 7, before));
  const SessionSummary marked = row(session);

  EXPECT_TRUE(transfer().mark_moved(there, 7, before)) << "the answer may have been lost";
  EXPECT_TRUE(transfer().mark_moved(there, 7, {}));
  EXPECT_EQ(row(session), marked);
  EXPECT_EQ(code_of(transfer().mark_moved(there, 8, {})), ErrorCode::conflict);
  EXPECT_EQ(code_of(transfer().mark_moved(there, 8, before)), ErrorCode::conflict);
  must(store->upkeep().remove(session));
  EXPECT_TRUE(transfer().mark_moved(there, 7, {})) << "also when its sessions are removed";
}

// As a move would read them, and nothing is held up.
TEST_P(TransferContract, SessionsAreShownWhereTheyAre) {
  const SessionId session = said("session");
  const SessionId other = said("other");
  const SessionSummary before = row(session);
  const FactSource shown{.owners = must(find_owners(transfer(), {session})), .arrival = {}};

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
  EXPECT_EQ(must(find_owners(transfer(), {})).size(), 2U);
  own(other);
  EXPECT_EQ(code_of(find_owners(transfer(), {})), ErrorCode::lease_held);
  EXPECT_TRUE(find_owners(transfer(), {session, session}));
  say(own(session), "goes on");
  EXPECT_GT(std::get<SessionFact>(must(transfer().read(shown, {})).facts[0]).row->summary.revision,
            before.revision);
}

TEST_P(TransferContract, OnlyWhatIsHereAndWholeIsShown) {
  const SessionId parent = said("parent");
  fork("fork", parent, Point::head());
  const SessionId gone = said("gone");
  must(mark({gone}));

  EXPECT_EQ(code_of(find_owners(transfer(), {session_id("nobody")})), ErrorCode::not_found);
  EXPECT_EQ(subject_of(find_owners(transfer(), {gone})), "there.db");
  const auto torn = find_owners(transfer(), {parent});
  EXPECT_EQ(code_of(torn), ErrorCode::conflict);
  EXPECT_EQ(subject_of(torn), "fork");
  EXPECT_EQ(must(find_owners(transfer(), {})).size(), 2U);
  EXPECT_EQ(must(find_owners(transfer(), {parent, session_id("fork")})).size(), 2U);
  must(store->upkeep().remove(parent));
  EXPECT_EQ(must(find_owners(transfer(), {session_id("fork")})).size(), 2U)
      << "with the removed one whose log it shares";
}

TEST_P(TransferContract, ItSaysWhereItWentAndCanBeRead) {
  const SessionId session = said("session");
  const SessionSummary before = row(session);
  must(mark());

  const SessionSummary after = row(session);
  EXPECT_EQ(after.moved_to, "there.db");
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

  must(mark());

  EXPECT_THAT(must(store->sessions().due(10)), SizeIs(0));
  EXPECT_FALSE(row(lease.session).needs_attention());
  SessionQuery query;
  query.needs_attention = true;
  EXPECT_THAT(must(store->sessions().list(query)).sessions, SizeIs(0));
}

TEST_P(TransferContract, NothingIsAddedToIt) {
  const SessionId session = said("session");
  must(mark());
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

TEST_P(TransferContract, ACommitMakesNoChildOfIt) {
  const SessionId session = said("session");
  must(mark());
  const Lease lease = own(create("other"));
  Batch spawn = batch(lease.session);
  spawn.children.push_back(
      {.id = session_id("child"), .origin = NewSession::Origin{session, {}, Lineage::child}});

  EXPECT_EQ(code_of(store->commit(lease, spawn)), ErrorCode::conflict);
}

TEST_P(TransferContract, OnceMovedItIsForgottenHereAlone) {
  const Lease lease = own(create());
  say(lease, "hello");
  checkpoint(lease);
  must(store->ownership().release(lease));
  must(mark());

  Upkeep& retention = store->upkeep();
  EXPECT_TRUE(retention.forget(lease.session, 1));
  EXPECT_TRUE(retention.erase(lease.session, {1}));
  EXPECT_TRUE(retention.prune(lease.session, {}));
}

TEST_P(TransferContract, OnceMovedItCanBeRemovedThoughCallsAreOpenAndKeepsItsKeys) {
  const Lease lease = own(create());
  say(lease, "hello");
  const Position call = in_state(lease, CallState::in_doubt, key);
  must(store->ownership().release(lease));
  must(mark());

  EXPECT_TRUE(store->upkeep().remove(lease.session));

  EXPECT_EQ(code_of(store->sessions().read(lease.session)), ErrorCode::not_found);
  const auto holder = must(store->ledger().find_holder(key));
  ASSERT_TRUE(holder);
  EXPECT_EQ(holder->session, lease.session);
  EXPECT_EQ(holder->position, call);
  EXPECT_TRUE(must(store->upkeep().check()).is_sound());
}

TEST_P(TransferContract, RelativesGoTogether) {
  const SessionId parent = said("parent");
  const SessionId other = said("stranger");
  fork("fork", parent, Point::head());
  create({.id = session_id("child"), .origin = NewSession::Origin{parent, {}, Lineage::child}});

  for (const auto& [named, left] :
       {std::pair("parent", "child"), std::pair("fork", "child"), std::pair("child", "fork")}) {
    const auto refused = mark({session_id(named)});
    EXPECT_EQ(code_of(refused), ErrorCode::conflict) << named;
    EXPECT_EQ(subject_of(refused), left) << named;
  }
  EXPECT_TRUE(mark({session_id("parent"), session_id("child"), session_id("fork")}));
  EXPECT_EQ(row(other).moved_to, "");
}

TEST_P(TransferContract, ForksOfARemovedSessionGoTogether) {
  const SessionId grandparent = said("grandparent");
  const SessionId parent = fork("parent", grandparent, Point::head());
  fork("one", parent, Point::head());
  fork("two", parent, Point::head());
  must(store->upkeep().remove(parent));

  EXPECT_EQ(subject_of(mark({session_id("one"), session_id("two")})), "grandparent");
  EXPECT_EQ(subject_of(mark({session_id("one"), grandparent})), "two");
  EXPECT_TRUE(mark({session_id("one"), session_id("two"), grandparent}));
}

TEST_P(TransferContract, WhatWasMovedIsNotMovedAgain) {
  const SessionId first = said("first");
  must(mark({first}));
  const SessionId second = said("second");

  for (const Destination& to : {there, Destination{"sto_elsewhere", "elsewhere"}}) {
    const auto refused = mark({first, second}, to);
    EXPECT_EQ(code_of(refused), ErrorCode::conflict);
    EXPECT_EQ(subject_of(refused), "there.db");
    EXPECT_EQ(row(second).moved_to, "");
  }
}

TEST_P(TransferContract, ADestinationAndSessionsMustBeProper) {
  said("session");
  for (const auto& [incarnation, place] :
       {std::pair("sto_there", ""), std::pair("sto_there", "a\nb"), std::pair("", "there")}) {
    EXPECT_EQ(code_of(mark({}, {incarnation, place})), ErrorCode::invalid_argument);
  }
  EXPECT_EQ(code_of(transfer().mark_moved(there, 1, {{session_id("nobody"), 1}})),
            ErrorCode::not_found);
}

}  // namespace
}  // namespace perdure
