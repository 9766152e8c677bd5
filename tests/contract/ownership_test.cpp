// ownership.hpp made executable.

#include "contract/store_contract.hpp"
#include "store/api/lookup.hpp"

namespace perdure {
namespace {

using testing::IsEmpty;

class OwnershipContract : public StoreContract {
 protected:
  Ownership& ownership() { return store->ownership(); }
  Lookup& lookup() { return store->lookup(); }
  std::optional<Holder> holder_of(const std::string& resource) {
    return must(lookup().find_resource(resource));
  }
};

INSTANTIATE_TEST_SUITE_P(EveryBackend, OwnershipContract, testing::ValuesIn(every_form()), name_of);

TEST_P(OwnershipContract, AWorkerIsEnrolledOnce) {
  enroll("a");

  EXPECT_EQ(code_of(ownership().enroll({.id = worker_id("a")})), ErrorCode::already_exists);
}

TEST_P(OwnershipContract, ALeaseTimeBelowOneMillisecondIsRefused) {
  for (const Duration lease_time : {0ms, -1ms}) {
    const auto enrolled_so = ownership().enroll({.id = worker_id("a"), .lease_time = lease_time});
    EXPECT_EQ(code_of(enrolled_so), ErrorCode::invalid_argument);
  }
  EXPECT_EQ(code_of(ownership().renew(worker_id("a"))), ErrorCode::lease_lost);
  enroll("a", 1ms);
}

TEST_P(OwnershipContract, AWorkerLivesForItsLeaseTime) {
  const SessionId session = create();
  enroll("a", 10s);
  enroll("b", 60s);
  own(session, "a");

  clock.advance(9999ms);
  EXPECT_EQ(code_of(ownership().acquire(session, worker_id("b"))), ErrorCode::lease_held);

  clock.advance(2ms);
  EXPECT_EQ(must(ownership().acquire(session, worker_id("b"))).worker, worker_id("b"));
}

TEST_P(OwnershipContract, TheWallClockDoesNotJudgeLeases) {
  const SessionId session = create();
  own(session, "a");
  enroll("b");

  clock.set_wall(clock.now() + 24h * 365);
  EXPECT_EQ(code_of(ownership().acquire(session, worker_id("b"))), ErrorCode::lease_held);
  EXPECT_TRUE(row(session).holder->alive);

  clock.set_wall(clock.now() - 24h * 730);
  must(ownership().renew(worker_id("b")));
  clock.advance(29s);
  must(ownership().renew(worker_id("b")));
  clock.advance(2s);
  EXPECT_FALSE(row(session).holder->alive);
  must(ownership().acquire(session, worker_id("b")));
}

TEST_P(OwnershipContract, RenewingStartsTheLeaseTimeAnew) {
  const SessionId session = create();
  enroll("b", 1h);
  own(session, "a");

  for (int i = 0; i < 5; ++i) {
    clock.advance(29s);
    must(ownership().renew(worker_id("a")));
  }
  clock.advance(29s);

  EXPECT_EQ(code_of(ownership().acquire(session, worker_id("b"))), ErrorCode::lease_held);
}

TEST_P(OwnershipContract, ALateRenewalKeepsWhatNobodyTook) {
  const SessionId session = create();
  const Lease lease = own(session, "a");
  clock.advance(1h);
  enroll("b");

  must(ownership().renew(worker_id("a")));

  EXPECT_EQ(code_of(ownership().acquire(session, worker_id("b"))), ErrorCode::lease_held);
  EXPECT_EQ(must(ownership().acquire(session, worker_id("a"))), lease);
}

TEST_P(OwnershipContract, WhatOthersTookMeanwhileStaysTheirsBehindAHigherFence) {
  const SessionId session = create();
  const Lease sleeper = own(session, "a");
  clock.advance(31s);
  const Lease successor = own(session, "b");

  must(ownership().renew(worker_id("a")));

  EXPECT_GT(successor.fence, sleeper.fence);
  EXPECT_EQ(code_of(store->commit(sleeper, batch_of(session, {message("late")}))),
            ErrorCode::lease_lost);
  const auto again = ownership().acquire(session, worker_id("a"));
  EXPECT_EQ(code_of(again), ErrorCode::lease_held);
  EXPECT_EQ(subject_of(again), "b");
}

TEST_P(OwnershipContract, AWorkerThatIsUnknownOrRetiredCannotRenew) {
  EXPECT_EQ(code_of(ownership().renew(worker_id("nobody"))), ErrorCode::lease_lost);
  enroll("a");
  must(ownership().retire(worker_id("a")));

  EXPECT_EQ(code_of(ownership().renew(worker_id("a"))), ErrorCode::lease_lost);
}

TEST_P(OwnershipContract, RetiringGivesUpAllTheWorkerHolds) {
  const SessionId one = create("one");
  const SessionId two = create("two");
  const Lease lease = own(one, "a");
  own(two, "a");
  must(lookup().acquire_resource("port 80", worker_id("a")));

  must(ownership().retire(worker_id("a")));

  EXPECT_EQ(row(one).holder, std::nullopt);
  EXPECT_EQ(row(two).holder, std::nullopt);
  EXPECT_EQ(holder_of("port 80"), std::nullopt);
  EXPECT_EQ(code_of(store->commit(lease, batch_of(one, {message("late")}))), ErrorCode::lease_lost);
  EXPECT_GT(own(one, "b").fence, lease.fence);
}

TEST_P(OwnershipContract, RetiringTwiceIsNotAnError) {
  enroll("a");
  must(ownership().retire(worker_id("a")));

  EXPECT_TRUE(ownership().retire(worker_id("a")));
  EXPECT_TRUE(ownership().retire(worker_id("nobody")));
}

TEST_P(OwnershipContract, RetiringLeavesAloneWhatOthersTook) {
  const SessionId session = create();
  own(session, "a");
  clock.advance(31s);
  const Lease successor = own(session, "b");

  must(ownership().retire(worker_id("a")));

  EXPECT_EQ(must(ownership().acquire(session, worker_id("b"))), successor);
}

TEST_P(OwnershipContract, TheFirstGrantHasFenceOne) { EXPECT_EQ(own(create(), "a").fence, 1U); }

TEST_P(OwnershipContract, ThePresentOwnerGetsTheLeaseItHas) {
  const SessionId session = create();
  const Lease lease = own(session, "a");
  clock.advance(1s);

  EXPECT_EQ(must(ownership().acquire(session, worker_id("a"))), lease);
  EXPECT_EQ(row(session).holder->since, clock.now() - 1s);
}

TEST_P(OwnershipContract, EveryOtherGrantRaisesTheFence) {
  const SessionId session = create();
  const Lease first = own(session, "a");
  must(ownership().release(first));
  const Lease second = own(session, "a");
  must(ownership().release(second));
  const Lease third = own(session, "b");

  EXPECT_EQ(second.fence, first.fence + 1);
  EXPECT_EQ(third.fence, second.fence + 1);
}

TEST_P(OwnershipContract, EachSessionHasAFenceOfItsOwn) {
  own(create("one"), "a");

  EXPECT_EQ(own(create("two"), "a").fence, 1U);
}

TEST_P(OwnershipContract, AnUnknownSessionCannotBeAcquired) {
  enroll("a");

  EXPECT_EQ(code_of(ownership().acquire(session_id("nobody"), worker_id("a"))),
            ErrorCode::not_found);
}

TEST_P(OwnershipContract, ALiveLeaseIsHeldAndItsWorkerIsTheSubject) {
  const SessionId session = create();
  own(session, "a");
  enroll("b");
  const auto before = everything(*store);

  const auto refused = ownership().acquire(session, worker_id("b"));

  EXPECT_EQ(code_of(refused), ErrorCode::lease_held);
  EXPECT_EQ(subject_of(refused), "a");
  EXPECT_EQ(everything(*store), before);
}

TEST_P(OwnershipContract, AWorkerThatIsNotLiveAcquiresNothing) {
  const SessionId session = create();
  enroll("late");
  enroll("retired");
  must(ownership().retire(worker_id("retired")));
  clock.advance(31s);

  for (const auto* worker : {"late", "retired", "never enrolled"}) {
    EXPECT_EQ(code_of(ownership().acquire(session, worker_id(worker))), ErrorCode::lease_lost);
    EXPECT_EQ(code_of(lookup().acquire_resource("r", worker_id(worker))), ErrorCode::lease_lost);
  }
  EXPECT_EQ(row(session).holder, std::nullopt);
  EXPECT_EQ(holder_of("r"), std::nullopt);

  must(ownership().renew(worker_id("late")));
  must(ownership().acquire(session, worker_id("late")));
}

TEST_P(OwnershipContract, AReleasedSessionHasNoOwner) {
  const SessionId session = create();
  const Lease lease = own(session, "a");

  must(ownership().release(lease));

  EXPECT_EQ(row(session).holder, std::nullopt);
  EXPECT_EQ(code_of(store->commit(lease, batch_of(session, {message("late")}))),
            ErrorCode::lease_lost);
  EXPECT_THAT(texts(session), IsEmpty());
}

TEST_P(OwnershipContract, ReleasingAnOutdatedLeaseChangesNothing) {
  const SessionId session = create();
  const Lease old = own(session, "a");
  must(ownership().release(old));
  const Lease present = own(session, "a");
  const auto before = everything(*store);

  EXPECT_TRUE(ownership().release(old));
  EXPECT_TRUE(ownership().release({session, worker_id("b"), present.fence}));
  EXPECT_TRUE(ownership().release({session, worker_id("a"), present.fence + 1}));

  EXPECT_EQ(everything(*store), before);
  say(present, "still mine");
}

TEST_P(OwnershipContract, AnExpiredLeaseThatNobodyTookStillWrites) {
  const SessionId session = create();
  const Lease lease = own(session, "a");
  clock.advance(1h);

  say(lease, "safety rests on the fence, not on time");
}

TEST_P(OwnershipContract, AResourceNeedNotExistBefore) {
  enroll("a");

  const auto lease = lookup().acquire_resource("/var/lib/thing", worker_id("a"));

  EXPECT_EQ(must(lease), (ResourceLease{"/var/lib/thing", worker_id("a"), 1}));
}

TEST_P(OwnershipContract, AResourceHasOneOwnerAtATime) {
  enroll("a");
  enroll("b", 1h);
  const auto first = must(lookup().acquire_resource("r", worker_id("a")));

  EXPECT_EQ(must(lookup().acquire_resource("r", worker_id("a"))), first);
  const auto refused = lookup().acquire_resource("r", worker_id("b"));
  EXPECT_EQ(code_of(refused), ErrorCode::lease_held);
  EXPECT_EQ(subject_of(refused), "a");

  clock.advance(31s);
  EXPECT_EQ(must(lookup().acquire_resource("r", worker_id("b"))).fence, first.fence + 1);
}

TEST_P(OwnershipContract, AResourceOfARetiredWorkerIsFreeAndKeepsItsFence) {
  enroll("a");
  enroll("b");
  const auto first = must(lookup().acquire_resource("r", worker_id("a")));

  must(ownership().retire(worker_id("a")));
  EXPECT_EQ(holder_of("r"), std::nullopt);

  const auto second = must(lookup().acquire_resource("r", worker_id("b")));
  EXPECT_EQ(second.fence, first.fence + 1);
}

TEST_P(OwnershipContract, AResourceSaysWhoHoldsItAliveOrNot) {
  EXPECT_EQ(holder_of("r"), std::nullopt);
  enroll("a");
  must(lookup().acquire_resource("r", worker_id("a")));
  Holder holder{.worker = worker_id("a"),
                .host = "host of a",
                .pid = 7,
                .since = clock.now(),
                .fence = 1,
                .alive = true};
  EXPECT_EQ(holder_of("r"), holder);

  clock.advance(31s);
  holder.alive = false;
  EXPECT_EQ(holder_of("r"), holder);
}

TEST_P(OwnershipContract, AResourceNamedLikeASessionIsNotTheSession) {
  const SessionId session = create("same name");
  own(session, "a");
  enroll("b");

  EXPECT_TRUE(lookup().acquire_resource("same name", worker_id("b")));
  EXPECT_EQ(row(session).holder->worker, worker_id("a"));
}

TEST_P(OwnershipContract, ABadResourceNameIsRefused) {
  enroll("a");
  for (const std::string& name : {std::string(), std::string(129, 'x'), std::string("a\nb"),
                                  std::string(" a"), std::string("\xff")}) {
    EXPECT_EQ(code_of(lookup().acquire_resource(name, worker_id("a"))), ErrorCode::invalid_argument)
        << describe(name);
  }
  EXPECT_TRUE(lookup().acquire_resource(std::string(128, 'x'), worker_id("a")));
}

}  // namespace
}  // namespace perdure
