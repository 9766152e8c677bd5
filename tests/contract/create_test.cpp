// Store::create made executable: a session, its owner and its first batch in one transaction.

#include "contract/store_contract.hpp"
#include "store/api/lookup.hpp"

namespace perdure {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Batch first_batch(const std::string& name, std::vector<NewEntry> entries, Position head = 0) {
  return {.id = batch_id(name), .expected_head = head, .entries = std::move(entries)};
}

TEST_P(StoreContract, ASessionIsCreatedWithItsFirstBatchAndItsOwner) {
  const WorkerId worker = enroll("w");
  Batch first = first_batch("first", {message("hello"), value("a plan")});
  first.checkpoint = NewCheckpoint{.reason = "asked"};
  const NewSession session{.id = session_id("a"), .annotation = {.title = "A title"}};

  const Created created = must(store->create(session, worker, first));

  EXPECT_EQ(created.lease, (Lease{session_id("a"), worker, first_fence}));
  EXPECT_EQ(created.receipt.batch, batch_id("first"));
  EXPECT_EQ(created.receipt.first, 1U);
  EXPECT_EQ(created.receipt.count, 2U);
  EXPECT_EQ(created.receipt.head, 2U);
  EXPECT_EQ(created.receipt.version, 1U);
  EXPECT_THAT(texts(session_id("a")), ElementsAre("hello", "a plan"));
  const SessionSummary there = row(session_id("a"));
  EXPECT_EQ(there.title, "A title");
  EXPECT_EQ(there.status, Status::active);
  EXPECT_EQ(there.revision, 2U);
  ASSERT_TRUE(there.holder);
  EXPECT_EQ(there.holder->worker, worker);
  EXPECT_EQ(there.holder->fence, first_fence);
  EXPECT_EQ(there.holder->since, clock.now());
  EXPECT_TRUE(there.holder->alive);
  EXPECT_TRUE(must(store->upkeep().check()).is_sound());
}

TEST_P(StoreContract, TheCreatorGoesOnUnderItsLease) {
  const Created created = must(
      store->create({.id = session_id("a")}, enroll("w"), first_batch("first", {message("one")})));

  say(created.lease, "two");

  EXPECT_EQ(must(store->ownership().acquire(session_id("a"), worker_id("w"))), created.lease);
  EXPECT_THAT(texts(session_id("a")), ElementsAre("one", "two"));
}

TEST_P(StoreContract, TheNextOwnerOfACreatedSessionHasAHigherFence) {
  const Created created = must(
      store->create({.id = session_id("a")}, enroll("w"), first_batch("first", {message("one")})));
  must(store->ownership().release(created.lease));

  EXPECT_EQ(own(session_id("a"), "other").fence, first_fence + 1);
  EXPECT_EQ(code_of(store->commit(created.lease, first_batch("late", {message("two")}, 1))),
            ErrorCode::lease_lost);
}

TEST_P(StoreContract, ACreationSentAgainReturnsTheSameLeaseAndReceipt) {
  const NewSession session{.id = session_id("a")};
  const WorkerId worker = enroll("w");
  const Batch first = first_batch("first", {message("one")});
  const Created created = must(store->create(session, worker, first));
  const auto before = everything(*store);
  clock.advance(1s);

  EXPECT_EQ(must(store->create(session, worker, first)), created);
  EXPECT_EQ(everything(*store), before);
}

TEST_P(StoreContract, ACreationSentAgainReturnsTheSameOnceOthersWentOn) {
  const NewSession session{.id = session_id("a")};
  const WorkerId worker = enroll("w");
  const Batch first = first_batch("first", {message("one")});
  const Created created = must(store->create(session, worker, first));
  must(store->ownership().retire(worker));
  const Lease next = own(session_id("a"), "other");
  say(next, "two");
  const auto before = everything(*store);

  EXPECT_EQ(must(store->create(session, worker, first)), created);
  EXPECT_EQ(everything(*store), before);
  EXPECT_EQ(must(store->ownership().acquire(session_id("a"), worker_id("other"))), next);
}

TEST_P(StoreContract, AnotherBatchCannotCreateASessionThatIsThere) {
  const WorkerId worker = enroll("w");
  const NewSession session{.id = session_id("a")};
  must(store->create(session, worker, first_batch("first", {message("one")})));
  create("bare");
  const auto before = everything(*store);

  const auto second = store->create(session, worker, first_batch("second", {message("two")}));
  const auto bare =
      store->create({.id = session_id("bare")}, worker, first_batch("second", {message("two")}));

  EXPECT_EQ(code_of(second), ErrorCode::already_exists);
  EXPECT_EQ(subject_of(second), "a");
  EXPECT_EQ(code_of(bare), ErrorCode::already_exists);
  EXPECT_EQ(everything(*store), before);
}

TEST_P(StoreContract, NoSessionIsCreatedForAWorkerThatIsNotLive) {
  const WorkerId late = enroll("late", 5s);
  clock.advance(5s);
  const auto before = everything(*store);

  for (const WorkerId& worker : {late, worker_id("unknown")}) {
    const auto created =
        store->create({.id = session_id("a")}, worker, first_batch("first", {message("one")}));
    EXPECT_EQ(code_of(created), ErrorCode::lease_lost);
    EXPECT_EQ(subject_of(created), worker.text());
  }
  EXPECT_EQ(everything(*store), before);
}

TEST_P(StoreContract, NoSessionIsCreatedIfItsFirstBatchIsRefused) {
  const WorkerId worker = enroll("w");
  const auto before = everything(*store);
  const auto create_with = [&](Batch first) {
    return code_of(store->create({.id = session_id("a")}, worker, first));
  };
  Batch consuming = first_batch("consuming", {message("one")});
  consuming.consumed = {message_id("nobody")};
  Batch naming_no_blob = first_batch("blob", {message("one")});
  naming_no_blob.entries.front().body = Body::from_blob({.digest = sha256("gone"), .size = 4});

  EXPECT_EQ(create_with(first_batch("head", {message("one")}, 1)), ErrorCode::conflict);
  EXPECT_EQ(create_with(consuming), ErrorCode::conflict);
  EXPECT_EQ(create_with(naming_no_blob), ErrorCode::invalid_argument);
  EXPECT_EQ(create_with(first_batch("name", {message("one", "")})), ErrorCode::invalid_argument);
  EXPECT_EQ(everything(*store), before);
  EXPECT_EQ(create_with(first_batch("head", {message("one")})), std::nullopt);
}

TEST_P(StoreContract, AForkIsCreatedWithWhatItChanges) {
  const SessionId parent = create("parent");
  const Lease lease = own(parent);
  say(lease, "one");
  say(lease, "two");
  const auto create_fork = [&](const std::string& name, Point at, Position head) {
    NewSession fork{.id = session_id(name)};
    fork.origin = NewSession::Origin{.session = parent, .at = at};
    return store->create(fork, enroll("w " + name), first_batch(name, {message("or else")}, head));
  };

  const Created created = must(create_fork("fork", Point::position(1), 1));

  EXPECT_EQ(created.receipt.first, 2U);
  EXPECT_THAT(texts(session_id("fork")), ElementsAre("one", "or else"));
  EXPECT_EQ(row(session_id("fork")).parent, (Parent{parent, 1, Lineage::fork}));
  EXPECT_EQ(code_of(create_fork("stale", Point::head(), 1)), ErrorCode::conflict);
  EXPECT_EQ(code_of(create_fork("nowhere", Point::position(9), 9)), ErrorCode::not_found);
  EXPECT_THAT(texts(parent), ElementsAre("one", "two"));
  EXPECT_TRUE(must(store->upkeep().check()).is_sound());
}

TEST_P(StoreContract, AFirstBatchMayBeEmpty) {
  const NewSession session{.id = session_id("a")};
  const WorkerId worker = enroll("w");

  const Created created = must(store->create(session, worker, first_batch("first", {})));

  EXPECT_EQ(created.receipt.head, 0U);
  EXPECT_THAT(texts(session_id("a")), IsEmpty());
  EXPECT_EQ(must(store->create(session, worker, first_batch("first", {}))), created);
}

TEST_P(StoreContract, CreatingCountsAsOneCommitInOneTransaction) {
  const WorkerId worker = enroll("w");
  const StoreInfo before = store->info();

  must(store->create({.id = session_id("a")}, worker, first_batch("first", {message("one")})));
  must(store->create({.id = session_id("a")}, worker, first_batch("first", {message("one")})));

  EXPECT_EQ(store->info().commits, before.commits + 1);
}

TEST_P(SurvivingStore, WhatASessionBeganWithIsThereAfterReopening) {
  must(store->create({.id = session_id("a")}, enroll("w"), first_batch("first", {message("one")})));

  store.reset();
  store = must(open());

  EXPECT_THAT(texts(session_id("a")), ElementsAre("one"));
}

}  // namespace
}  // namespace perdure
