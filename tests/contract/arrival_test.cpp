// transfer.hpp made executable, at the target of a move. The source of each is a store in memory: what
// a backend hands over, any other takes in.

#include "contract/store_contract.hpp"
#include "contract/transfer_contract.hpp"
#include "contract/travel.hpp"
#include "perdure/store/transfer.hpp"

namespace perdure {
namespace {

using testing::SizeIs;

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

  const Arrival none = must(transfer().find_arrival(source.arriving.peer));
  EXPECT_EQ(none.ticket, 0U);
  EXPECT_EQ(none.last, source.arriving.ticket) << "whoever gives tickets must know the last one";
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
  EXPECT_EQ(must(transfer().find_arrival(source.arriving.peer)).next, second.next);
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
  EXPECT_EQ(must(store->upkeep().collect_blobs(1h)).items, 0U);
}

TEST_P(TransferContract, WhatCameCanGoBackOnceItsRemainsAreRemoved) {
  Source source = guest(CallState::in_doubt);
  land(source);
  const Destination back{.incarnation = source.arriving.peer, .place = "back"};
  must(source.store->upkeep().remove(session_id("guest")));
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

INSTANTIATE_TEST_SUITE_P(SurvivingBackend, TravellingStore,
                         testing::ValuesIn(surviving(every_form())), name_of);

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
  EXPECT_EQ(arrival.ticket, source.arriving.ticket);
  EXPECT_TRUE(arrival.next.is_end());
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
