// retention.hpp made executable: removing sessions.

#include "contract/store_contract.hpp"
#include "store/api/lookup.hpp"

namespace perdure {
namespace {

using testing::ElementsAre;

class RemoveContract : public StoreContract {
 protected:
  Result<Freed> remove(const SessionId& session) { return store->upkeep().remove(session); }

  void release(const Lease& lease) { must(store->ownership().release(lease)); }

  /// A session without an owner that said these.
  SessionId said(const std::string& name, const std::vector<std::string>& lines) {
    const Lease lease = own(create(name));
    for (const std::string& line : lines) say(lease, line);
    release(lease);
    return lease.session;
  }
};

INSTANTIATE_TEST_SUITE_P(EveryBackend, RemoveContract, testing::ValuesIn(every_form()), name_of);

TEST_P(RemoveContract, ARemovedSessionIsNotFound) {
  const SessionId session = said("session", {"one", "three"});
  post(session, "m");

  EXPECT_EQ(must(remove(session)), (Freed{.items = 2, .bytes = 8}));

  EXPECT_EQ(code_of(store->sessions().read(session)), ErrorCode::not_found);
  EXPECT_EQ(code_of(store->log().read(session, {})), ErrorCode::not_found);
  EXPECT_EQ(code_of(store->inbox().list(session, 1)), ErrorCode::not_found);
  EXPECT_EQ(code_of(remove(session)), ErrorCode::not_found);
  EXPECT_TRUE(must(store->sessions().list({})).sessions.empty());
}

TEST_P(RemoveContract, ASessionThatALiveWorkerOwnsIsNotRemoved) {
  const Lease lease = own(create());

  EXPECT_EQ(code_of(remove(lease.session)), ErrorCode::lease_held);
  EXPECT_EQ(subject_of(remove(lease.session)), "worker");

  clock.advance(31s);
  EXPECT_EQ(code_of(remove(lease.session)), std::nullopt);
}

TEST_P(RemoveContract, ASessionWithAnUnresolvedCallIsNotRemoved) {
  for (const CallState state : {CallState::intended, CallState::dispatched, CallState::in_doubt}) {
    const Lease lease = own(create(std::string(to_string(state))));
    say(lease, "hello");
    in_state(lease, state);
    release(lease);

    EXPECT_EQ(code_of(remove(lease.session)), ErrorCode::conflict);
    EXPECT_EQ(subject_of(remove(lease.session)), call_name(lease.session, 2));
    EXPECT_EQ(texts(lease.session).size(), 2U);
  }
}

TEST_P(RemoveContract, WhatForksShareStaysForThem) {
  const Lease lease = own(create());
  commit(lease, batch_of(lease.session, {value("old"), value("new"), message("shared")}));
  const SessionId other = fork("fork", lease.session, Point::head());
  say(lease, "alone");
  release(lease);

  EXPECT_EQ(must(remove(lease.session)), (Freed{.items = 2, .bytes = 8}));

  EXPECT_THAT(texts(other), ElementsAre("new", "shared"));
  EXPECT_EQ(row(other).parent->session, lease.session);
  EXPECT_EQ(must(store->lookup().line(other, Point::head())).front().session, SessionId{});
  say(own(other), "goes on");
  EXPECT_EQ(row(other).head, 4U);
}

TEST_P(RemoveContract, WhatOnlyTheLastForkNeededGoesWithIt) {
  const SessionId session = said("session", {"1", "2", "3"});
  const SessionId near = fork("near", session, Point::position(3));
  const SessionId far = fork("far", session, Point::position(1));

  EXPECT_EQ(must(remove(session)).items, 0U);
  EXPECT_EQ(must(remove(near)).items, 2U);
  EXPECT_THAT(texts(far), ElementsAre("1"));
  EXPECT_EQ(must(remove(far)).items, 1U);
}

TEST_P(RemoveContract, AChainOfRemovedSessionsGoesWithItsEnd) {
  const SessionId first = said("first", {"1"});
  const SessionId second = fork("second", first, Point::head());
  Lease lease = own(second);
  say(lease, "2");
  release(lease);
  const SessionId third = fork("third", second, Point::head());
  lease = own(third);
  say(lease, "3");
  release(lease);

  EXPECT_EQ(must(remove(first)).items, 0U);
  EXPECT_EQ(must(remove(second)).items, 0U);
  EXPECT_THAT(texts(third), ElementsAre("1", "2", "3"));
  EXPECT_EQ(must(remove(third)).items, 3U);
}

TEST_P(RemoveContract, BranchesGoWithTheirSession) {
  const Lease lease = own(create());
  say(lease, "shared");
  say(lease, "left");
  branch(lease, Point::position(1), "taken");
  release(lease);

  EXPECT_EQ(must(remove(lease.session)).items, 3U);
}

TEST_P(RemoveContract, TotalsOfAForkOutliveItsParent) {
  const Lease lease = own(create());
  for (int i = 1; i <= 3; ++i) {
    Batch made = batch_of(lease.session, {value("plan")});
    made.entries.front().tally.turns = i;
    made.checkpoint = NewCheckpoint{};
    commit(lease, made);
  }
  const SessionId other = fork("fork", lease.session, Point::head());
  release(lease);
  must(remove(lease.session));

  EXPECT_EQ(row(other).tally.turns, 6);
  EXPECT_EQ(row(fork("again", other, Point::position(3))).tally.turns, 6);
}

TEST_P(RemoveContract, AKeyThatWasHeldStaysClaimedWithoutPayload) {
  for (const CallState state : {CallState::succeeded, CallState::abandoned}) {
    const Digest key = sha256(to_string(state));
    const Lease lease = own(create(std::string(to_string(state))));
    const Position at = in_state(lease, state, key);
    Call expected = call(lease.session, at);
    expected.args = 0;
    release(lease);
    must(remove(lease.session));

    EXPECT_EQ(must(store->ledger().find_holder(key)), expected);
    EXPECT_THAT(must(store->lookup().by_key(key)), ElementsAre(expected));
    EXPECT_TRUE(must(store->ledger().list({})).empty());
  }
}

TEST_P(RemoveContract, AClaimedKeyIsNotDispatchedAgain) {
  const Digest key = sha256("key");
  const Lease lease = own(create("gone"));
  in_state(lease, CallState::succeeded, key);
  release(lease);
  must(remove(lease.session));
  // Under the very name that holds the key, it is still another call.
  for (const char* name : {"other", "gone"}) {
    const Lease next = own(create(name));
    const Position at = intend(next, key);
    Batch made = batch(next.session);
    made.calls = {Dispatch{.call = at}};

    const auto refused = store->commit(next, made);
    EXPECT_EQ(code_of(refused), ErrorCode::conflict);
    EXPECT_EQ(subject_of(refused), "gone:1");
  }
}

TEST_P(RemoveContract, AKeyThatWasNotHeldIsFree) {
  const Digest key = sha256("key");
  const Lease lease = own(create("gone"));
  in_state(lease, CallState::failed, key);
  release(lease);
  must(remove(lease.session));

  EXPECT_EQ(must(store->ledger().find_holder(key)), std::nullopt);
  EXPECT_TRUE(must(store->lookup().by_key(key)).empty());
  in_state(own(create("other")), CallState::succeeded, key);
}

TEST_P(RemoveContract, ChildrenStayAndKeepItsIdAsTheirParent) {
  const SessionId session = said("session", {"one"});
  NewSession made{.id = session_id("child")};
  made.origin =
      NewSession::Origin{.session = session, .at = Point::head(), .lineage = Lineage::child};
  const SessionId child = create(made);
  say(own(child), "hello");

  EXPECT_EQ(must(remove(session)).items, 1U);

  EXPECT_THAT(texts(child), ElementsAre("hello"));
  EXPECT_EQ(row(child).parent->session, session);
}

TEST_P(RemoveContract, TheIdCanBeUsedAgain) {
  const Lease lease = own(create());
  const Batch made = batch_of(lease.session, {message("first life")});
  commit(lease, made);
  checkpoint(lease);
  post(lease.session, "m");
  release(lease);
  must(remove(lease.session));

  const Lease again = own(create());
  EXPECT_THAT(texts(again.session), ElementsAre());
  EXPECT_TRUE(must(store->inbox().list(again.session, 9)).empty());
  EXPECT_EQ(commit(again, made).first, 1U) << "its receipts are gone too";
  EXPECT_EQ(checkpoint(again), 1U);
}

TEST_P(RemoveContract, AForkOfARemovedSessionIsNotMade) {
  const SessionId session = said("session", {"one"});
  must(remove(session));

  NewSession made{.id = session_id("late")};
  made.origin = NewSession::Origin{.session = session, .at = Point::head()};
  EXPECT_EQ(code_of(store->sessions().create(made)), ErrorCode::not_found);
}

TEST_P(RemoveContract, WhatIsCutOffIsDoneByVacuum) {
  const Digest key = sha256("key");
  const Lease lease = own(create());
  in_state(lease, CallState::succeeded, key);
  Batch made = batch(lease.session);
  for (int i = 0; i < 1000; ++i) made.entries.push_back(message("text"));
  commit(lease, made);
  const SessionId other = fork("fork", lease.session, Point::position(1));
  release(lease);
  must(store->upkeep().remove(lease.session, [](const Step&) { return false; }));

  const std::string before = everything(*store) + describe(store->lookup().by_key(key));
  must(store->upkeep().vacuum());

  EXPECT_EQ(everything(*store) + describe(store->lookup().by_key(key)), before);
  EXPECT_EQ(must(remove(other)).items, 1U) << "nothing else was left";
}

}  // namespace
}  // namespace perdure
