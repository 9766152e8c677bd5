// transfer.hpp made executable, at the target of a move. The source of each is a store in memory: what
// a backend hands over, any other takes in.

#include "contract/store_contract.hpp"
#include "contract/transfer_contract.hpp"
#include "store/api/transfer.hpp"

namespace perdure {
namespace {

using testing::SizeIs;

TEST_P(TransferContract, NobodySeesWhatIsOnItsWay) {
  const std::string before = everything(*store);
  Source source = guest();
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
  must(take_all(source));
  must(transfer().discard(source.arrival));

  EXPECT_EQ(attempt_from(source), 0U);
  EXPECT_EQ(must(store->ledger().find_holder(key)), std::nullopt);
  EXPECT_TRUE(store->sessions().create({.id = session_id("guest")}));
  const auto report = must(store->upkeep().check());
  EXPECT_TRUE(report.is_sound());
  EXPECT_EQ(report.entries, 0U);
  EXPECT_TRUE(transfer().discard(source.arrival));
  EXPECT_EQ(code_of(release(transfer(), source.arrival)), ErrorCode::lease_lost);
}

TEST_P(TransferContract, AKeyThatTwoArrivalsClaimStaysWhenOneIsDiscarded) {
  Source first = claimant("first");
  Source second = claimant("second");
  must(take_all(first));
  land(second);

  must(transfer().discard(first.arrival));

  const auto holder = must(store->ledger().find_holder(key));
  ASSERT_TRUE(holder);
  EXPECT_EQ(holder->session, session_id("gone"));
  EXPECT_TRUE(must(store->upkeep().check()).is_sound());
}

TEST_P(TransferContract, AllArrivalsAreNamedUntilTheyAreReleased) {
  Source first = claimant("first");
  Source second = claimant("second");
  must(take_all(first));
  must(take_all(second));
  const auto open = [&] {
    return must(transfer().read({.owners = {}, .arrival = {.from = "elsewhere"}}, {})).arrivals;
  };

  EXPECT_THAT(open(), testing::UnorderedElementsAre(first.arrival, second.arrival));
  must(release(transfer(), second.arrival));
  EXPECT_THAT(open(), testing::ElementsAre(first.arrival));
  must(transfer().discard(first.arrival));
  EXPECT_THAT(open(), SizeIs(0));
}

TEST_P(TransferContract, FactsAreTakenInOnceAndInOrder) {
  Source source = guest();
  Transfer& from = source.store->transfer();
  const FactSource facts{.owners = must(find_owners(from, {})), .arrival = {}};
  const FactSlice first = must(from.read(facts, {}));
  const FactSlice second = must(from.read(facts, first.next));
  const FactSlice third = must(from.read(facts, second.next));

  EXPECT_EQ(code_of(transfer().take(source.arrival, second)), ErrorCode::lease_lost);
  must(transfer().take(source.arrival, first));
  EXPECT_EQ(code_of(transfer().take(source.arrival, third)), ErrorCode::conflict);
  must(transfer().take(source.arrival, second));
  EXPECT_TRUE(transfer().take(source.arrival, second));
  EXPECT_EQ(code_of(transfer().take(source.arrival, first)), ErrorCode::conflict);
  must(transfer().take(source.arrival, third));
  EXPECT_EQ(code_of(release(transfer(), source.arrival)), ErrorCode::conflict);
  EXPECT_EQ(code_of(store->sessions().read(session_id("guest"))), ErrorCode::not_found);
}

TEST_P(TransferContract, AnotherAttemptWaitsUntilThisOneIsDiscarded) {
  Source source = guest();
  Transfer& from = source.store->transfer();
  const FactSource facts{.owners = must(find_owners(from, {})), .arrival = {}};
  const FactSlice first = must(from.read(facts, {}));
  const FactSlice second = must(from.read(facts, first.next));
  const Arrival next{.from = source.arrival.from, .attempt = source.arrival.attempt + 1};
  must(transfer().take(source.arrival, first));
  EXPECT_EQ(attempt_from(source), source.arrival.attempt);

  EXPECT_EQ(code_of(transfer().take(next, first)), ErrorCode::conflict);
  must(transfer().discard(next));
  EXPECT_EQ(attempt_from(source), source.arrival.attempt) << "another one is left alone";
  must(transfer().discard({.from = next.from}));
  EXPECT_TRUE(transfer().take(next, first));
  EXPECT_EQ(code_of(transfer().take(source.arrival, second)), ErrorCode::lease_lost);
  EXPECT_TRUE(transfer().take(next, second));
}

TEST_P(TransferContract, AnIdThatIsInUseIsRefused) {
  create("guest");
  Source source = guest();

  const auto refused = take_all(source);

  EXPECT_EQ(code_of(refused), ErrorCode::already_exists);
  EXPECT_EQ(subject_of(refused), "guest");
}

TEST_P(TransferContract, AKeyThatIsHeldIsRefused) {
  const Lease lease = own(create());
  say(lease, "hello");
  in_state(lease, CallState::succeeded, key);
  Source source = guest();

  const auto refused = take_all(source);

  EXPECT_EQ(code_of(refused), ErrorCode::conflict);
  EXPECT_EQ(subject_of(refused), "session:2");
}

TEST_P(TransferContract, ABlobMustHaveBeenPut) {
  const BlobRef ref{.digest = sha256("a blob"), .size = 6};
  Source source = guest(CallState::succeeded, Body::from_blob(ref));

  EXPECT_EQ(code_of(travel(*source.store, *store, source.arrival, false)),
            ErrorCode::invalid_argument);
  must(transfer().discard(source.arrival));
  EXPECT_TRUE(take_all(source));
  clock.advance(1h);
  EXPECT_EQ(must(store->upkeep().collect_blobs(1h)).items, 0U);
}

// Larger than what the hexadecimal digits of a text inside JSON may take on PostgreSQL.
TEST_P(TransferContract, ALargeBodyArrivesAsItWas) {
  const std::string bytes((std::size_t{128} << 20) + 1, '\xfe');
  Source source = guest(CallState::succeeded, Body::from_bytes(bytes));
  land(source);

  const auto log = must(store->log().read(session_id("guest"), {.limit = 1}));
  EXPECT_TRUE(log.at(0).body.bytes() == bytes);
}

TEST_P(TransferContract, WhatCameCanGoBackOnceItsRemainsAreRemoved) {
  Source source = guest(CallState::in_doubt);
  land(source);
  const Destination back{.incarnation = source.arrival.from, .place = "back"};
  must(source.store->transfer().mark_moved(
      {.incarnation = "sto_here", .place = "here"}, 1,
      {{session_id("guest"), must(source.store->sessions().read(session_id("guest"))).revision}}));
  must(source.store->upkeep().remove(session_id("guest")));
  const Arrival in{.from = store->info().incarnation, .attempt = 2};
  must(travel(*store, *source.store, in));
  must(mark({}, back));
  must(release(source.store->transfer(), in));

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
  must(mark());
  const std::uint64_t marked = attempts;
  Source source = guest();
  must(take_all(source));
  must(store->sync());
  store.reset();
  store = must(open({.create = false}));

  EXPECT_EQ(row(session_id("leaves")).moved_to, "there.db");
  EXPECT_TRUE(transfer().mark_moved(there, marked, {}));
  EXPECT_EQ(attempt_from(source), source.arrival.attempt);
  must(release(transfer(), source.arrival));
  store.reset();
  store = must(open({.create = false}));
  EXPECT_THAT(texts(session_id("guest")), SizeIs(testing::Ge(2)));
}

}  // namespace
}  // namespace perdure
