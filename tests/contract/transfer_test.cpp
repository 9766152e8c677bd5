// transfer.hpp made executable, and what the other headers say of sessions that are moved. The
// other store of each move is one in memory: what a backend hands over, any other takes in.

#include "perdure/store/transfer.hpp"

#include "contract/store_contract.hpp"
#include "contract/travel.hpp"

namespace perdure {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

const Destination there{.incarnation = "sto_there", .place = "there.db"};

class TransferContract : public StoreContract {
 protected:
  Transfer& transfer() { return store->transfer(); }

  /// A session without an owner that said one thing.
  SessionId said(const std::string& name) {
    const Lease lease = own(create(name));
    say(lease, "hello");
    must(store->ownership().release(lease));
    return lease.session;
  }

  Passage depart(const std::vector<SessionId>& sessions = {}) {
    return departing(there, must(transfer().depart(there, sessions)));
  }

  /// A store that moves all it has to this one.
  struct Source {
    std::unique_ptr<Store> store;
    Departure departure{};
    Passage departing{};
    Passage arriving{};
  };

  /// A session "guest" with a call in that state that has the key.
  Source guest(CallState state = CallState::succeeded, Body body = Body::from_text("{}")) {
    Source source;
    source.store = must(open_store("memory:", {.clock = &clock, .ids = &ids}));
    store.swap(source.store);
    const Lease lease = own(create("guest"), "host");
    if (const auto ref = body.blob()) must(store->blobs().put("a blob"));
    NewEntry entry = message("hello");
    entry.body = std::move(body);
    commit(lease, batch_of(lease.session, {entry}));
    in_state(lease, state, key);
    must(store->ownership().retire(worker_id("host")));
    store.swap(source.store);
    enrolled.erase("host");
    open_move(source);
    return source;
  }

  void open_move(Source& source) {
    const Destination here{.incarnation = store->upkeep().info().incarnation, .place = "here"};
    source.departure = must(source.store->transfer().depart(here, {}));
    source.departing = departing(here, source.departure);
    source.arriving = arriving(*source.store, source.departure);
  }

  void arrive(const Source& source) {
    must(transfer().arrive(source.arriving.peer, source.departure));
  }

  Result<void> take_all(Source& source) {
    return travel(*source.store, *store, {source.departing, source.arriving});
  }

  void land(Source& source) {
    arrive(source);
    must(take_all(source));
    must(source.store->transfer().end(source.departing, MoveEnd::moved));
    must(transfer().end(source.arriving, MoveEnd::moved));
  }

  const Digest key = sha256("a key");
};

INSTANTIATE_TEST_SUITE_P(EveryBackend, TransferContract, testing::ValuesIn(every_backend()),
                         name_of);

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
  const std::string before = everything(*store);
  const Passage move = depart();

  Retention& retention = store->retention();
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

  EXPECT_TRUE(store->retention().remove(lease.session));

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
  must(store->retention().remove(parent));

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

TEST_P(TransferContract, NobodySeesWhatIsOnItsWay) {
  const std::string before = everything(*store);
  Source source = guest();
  arrive(source);
  must(take_all(source));

  EXPECT_EQ(everything(*store), before);
  EXPECT_EQ(code_of(store->sessions().read(session_id("guest"))), ErrorCode::not_found);
  EXPECT_EQ(code_of(store->ownership().acquire(session_id("guest"), enroll("w"))),
            ErrorCode::not_found);
  EXPECT_THAT(must(store->sessions().due(10)), SizeIs(0));
  EXPECT_TRUE(must(store->upkeep().check()).is_sound());
}

TEST_P(TransferContract, ItsIdAndItsKeysAreTaken) {
  Source source = guest(CallState::in_doubt);
  arrive(source);
  must(take_all(source));

  EXPECT_EQ(code_of(store->sessions().create({.id = session_id("guest")})),
            ErrorCode::already_exists);
  const auto holder = must(store->ledger().find_holder(key));
  ASSERT_TRUE(holder);
  EXPECT_EQ(call_name(holder->session, holder->position), "guest:2");
  const Lease lease = own(create());
  say(lease, "hello");
  const Position call = intend(lease, key);
  Batch dispatch = batch(lease.session);
  dispatch.calls.emplace_back(Dispatch{.call = call});
  EXPECT_EQ(subject_of(store->commit(lease, dispatch)), "guest:2");
}

TEST_P(TransferContract, ItLandsAsItWasBehindAHigherFence) {
  Source source = guest(CallState::in_doubt);
  land(source);

  const SessionSummary was = must(source.store->sessions().read(session_id("guest")));
  const SessionSummary is = row(session_id("guest"));
  EXPECT_EQ(is.moved_to, "");
  EXPECT_EQ(is.head, was.head);
  EXPECT_EQ(is.attention, 1);
  EXPECT_EQ(is.updated_at, was.updated_at);
  EXPECT_THAT(must(store->sessions().due(10)), SizeIs(1));
  EXPECT_EQ(call_name(session_id("guest"), must(store->ledger().find_holder(key))->position),
            "guest:2");
  const Lease lease = own(session_id("guest"));
  EXPECT_GT(lease.fence, Fence{1} << 32U);
  say(lease, "goes on");
  EXPECT_EQ(row(session_id("guest")).head, was.head + 1);
  EXPECT_TRUE(must(store->upkeep().check()).is_sound());
}

TEST_P(TransferContract, ThrownAwayNothingOfItIsLeft) {
  Source source = guest();
  arrive(source);
  must(take_all(source));
  must(transfer().end(source.arriving, MoveEnd::abandoned));

  EXPECT_EQ(must(transfer().find_arrival(source.arriving.peer)), std::nullopt);
  EXPECT_EQ(must(store->ledger().find_holder(key)), std::nullopt);
  EXPECT_TRUE(store->sessions().create({.id = session_id("guest")}));
  const auto report = must(store->upkeep().check());
  EXPECT_TRUE(report.is_sound());
  EXPECT_EQ(report.entries, 0U);
  EXPECT_TRUE(transfer().end(source.arriving, MoveEnd::abandoned));
  EXPECT_EQ(code_of(transfer().end(source.arriving, MoveEnd::moved)), ErrorCode::conflict);
}

TEST_P(TransferContract, FactsAreTakenInOnceAndInOrder) {
  Source source = guest();
  arrive(source);
  const FactSlice first = must(source.store->transfer().read(source.departing, {}));
  const FactSlice second = must(source.store->transfer().read(source.departing, first.next));
  const FactSlice third = must(source.store->transfer().read(source.departing, second.next));

  EXPECT_EQ(code_of(transfer().take(source.arriving, second)), ErrorCode::conflict);
  must(transfer().take(source.arriving, first));
  must(transfer().take(source.arriving, second));
  EXPECT_TRUE(transfer().take(source.arriving, second));
  EXPECT_EQ(code_of(transfer().take(source.arriving, first)), ErrorCode::conflict);
  EXPECT_EQ(must(transfer().find_arrival(source.arriving.peer))->next, second.next);
  must(transfer().take(source.arriving, third));
  EXPECT_EQ(code_of(transfer().end(source.arriving, MoveEnd::moved)), ErrorCode::conflict);
  EXPECT_EQ(code_of(store->sessions().read(session_id("guest"))), ErrorCode::not_found);
}

TEST_P(TransferContract, AnOutdatedTicketTakesNothingIn) {
  Source source = guest();
  arrive(source);
  const FactSlice slice = must(source.store->transfer().read(source.departing, {}));
  const Passage before = source.arriving;
  const Departure older = source.departure;
  open_move(source);
  arrive(source);

  EXPECT_EQ(code_of(transfer().take(before, slice)), ErrorCode::lease_lost);
  EXPECT_EQ(code_of(transfer().end(before, MoveEnd::abandoned)), ErrorCode::lease_lost);
  EXPECT_EQ(code_of(transfer().arrive(before.peer, older)), ErrorCode::lease_lost);
  EXPECT_TRUE(transfer().take(source.arriving, slice));
}

TEST_P(TransferContract, ANewMoveWaitsUntilTheOneBeforeHasEndedHere) {
  Source source = guest();
  arrive(source);
  must(take_all(source));
  must(source.store->transfer().end(source.departing, MoveEnd::moved));
  Source next{.store = std::move(source.store)};
  open_move(next);

  EXPECT_EQ(code_of(transfer().arrive(next.arriving.peer, next.departure)), ErrorCode::conflict);
  must(transfer().end(source.arriving, MoveEnd::moved));
  EXPECT_TRUE(transfer().arrive(next.arriving.peer, next.departure));
}

TEST_P(TransferContract, AnIdThatIsInUseIsRefused) {
  create("guest");
  Source source = guest();
  arrive(source);

  const auto refused = take_all(source);

  EXPECT_EQ(code_of(refused), ErrorCode::already_exists);
  EXPECT_EQ(subject_of(refused), "guest");
}

TEST_P(TransferContract, AKeyThatIsHeldIsRefused) {
  const Lease lease = own(create());
  say(lease, "hello");
  in_state(lease, CallState::succeeded, key);
  Source source = guest();
  arrive(source);

  const auto refused = take_all(source);

  EXPECT_EQ(code_of(refused), ErrorCode::conflict);
  EXPECT_EQ(subject_of(refused), "session:2");
}

TEST_P(TransferContract, ABlobMustHaveBeenPut) {
  const BlobRef ref{.digest = sha256("a blob"), .size = 6};
  Source source = guest(CallState::succeeded, Body::from_blob(ref));
  arrive(source);

  EXPECT_EQ(code_of(take_facts_only(*source.store, *store, {source.departing, source.arriving})),
            ErrorCode::invalid_argument);
  must(store->blobs().put("a blob"));
  EXPECT_TRUE(take_all(source));
  clock.advance(1h);
  EXPECT_EQ(must(store->retention().collect_blobs(1h)).items, 0U);
}

TEST_P(TransferContract, WhatCameCanGoBackOnceItsRemainsAreRemoved) {
  Source source = guest(CallState::in_doubt);
  land(source);
  const Destination back{.incarnation = source.arriving.peer, .place = "back"};
  must(source.store->retention().remove(session_id("guest")));
  const Departure departure = must(transfer().depart(back, {}));
  const Passage out = departing(back, departure);
  const Passage in = arriving(*store, departure);
  must(source.store->transfer().arrive(in.peer, departure));
  must(travel(*store, *source.store, {out, in}));
  must(transfer().end(out, MoveEnd::moved));
  must(source.store->transfer().end(in, MoveEnd::moved));

  EXPECT_EQ(must(source.store->sessions().read(session_id("guest"))).moved_to, "");
  EXPECT_TRUE(must(source.store->upkeep().check()).is_sound());
  EXPECT_EQ(row(session_id("guest")).moved_to, "back");
}

/// Reopened in between: what a move has come to survives.
class TravellingStore : public TransferContract {};

INSTANTIATE_TEST_SUITE_P(SurvivingBackend, TravellingStore, testing::ValuesIn(surviving_backends()),
                         name_of);

TEST_P(TravellingStore, BothEndsSurvive) {
  said("leaves");
  const Departure departure = must(transfer().depart(there, {}));
  Source source = guest();
  arrive(source);
  must(take_all(source));
  store.reset();
  store = must(open({.create = false}));

  EXPECT_EQ(must(transfer().find_departure("sto_there")), departure);
  EXPECT_TRUE(row(session_id("leaves")).moving);
  const auto arrival = must(transfer().find_arrival(source.arriving.peer));
  ASSERT_TRUE(arrival);
  EXPECT_TRUE(arrival->next.is_end());
  must(transfer().end(source.arriving, MoveEnd::moved));
  must(transfer().end(departing(there, departure), MoveEnd::moved));
  store.reset();
  store = must(open({.create = false}));
  EXPECT_FALSE(row(session_id("leaves")).moving);
  EXPECT_EQ(row(session_id("leaves")).moved_to, "there.db");
  EXPECT_THAT(texts(session_id("guest")), SizeIs(testing::Ge(2)));
}

}  // namespace
}  // namespace perdure
