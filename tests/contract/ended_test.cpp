// How a session ends, and what an ended one still takes: nothing is begun in it, and what was begun
// before is recorded.

#include <array>
#include <string>

#include "contract/store_contract.hpp"
#include "perdure/core/sha256.hpp"

namespace perdure {
namespace {

class EndedContract : public StoreContract {
 protected:
  static constexpr std::array ends = {Status::completed, Status::failed, Status::cancelled};

  /// A session that has ended so, and calls that were begun before; only what is cancelled has any.
  Lease ended(Status status) {
    const std::string name = "ended " + std::string(to_string(status));
    const Lease lease = own(create(name), "worker of " + name);
    intended = intend(lease);
    failed = in_state(lease, CallState::failed, sha256(name));
    if (status != Status::cancelled) apply(lease, Settle{intended, CallState::cancelled});
    change(lease, {.status = status});
    return lease;
  }

  void expect_refused(const Lease& lease, const Batch& batch) {
    const std::string before = everything(*store);
    const auto refused = store->commit(lease, batch);
    EXPECT_EQ(code_of(refused), ErrorCode::conflict);
    EXPECT_EQ(everything(*store), before);
  }

  Position intended = 0;
  Position failed = 0;
};

INSTANTIATE_TEST_SUITE_P(EveryBackend, EndedContract, testing::ValuesIn(every_form()), name_of);

TEST_P(EndedContract, NothingIsCompletedOrFailsWhileACallIsUnresolved) {
  for (const CallState open : {CallState::intended, CallState::dispatched, CallState::in_doubt}) {
    const SessionId session = create(std::string(to_string(open)));
    const Lease lease = own(session, "worker of " + session.text());
    in_state(lease, CallState::succeeded);
    const Position call = in_state(lease, open);
    for (const Status end : {Status::completed, Status::failed}) {
      Batch made = batch_of(session, {message("the end")});
      made.status = StatusChange{.status = end};
      made.checkpoint = NewCheckpoint{.reason = "end"};
      const auto refused = store->commit(lease, made);
      EXPECT_EQ(code_of(refused), ErrorCode::conflict) << to_string(open);
      EXPECT_EQ(subject_of(refused), call_name(session, call));
      EXPECT_EQ(row(session).status, Status::active);
      EXPECT_EQ(row(session).version, 0U);
    }
  }
}

TEST_P(EndedContract, ABatchMaySettleTheLastCallAndEndTheSession) {
  const SessionId session = create();
  const Lease lease = own(session);
  const Position call = in_state(lease, CallState::dispatched);
  Batch made = batch_of(session, {message("the result")});
  made.calls = {Settle{.call = call, .state = CallState::succeeded, .result = row(session).next}};
  made.status = StatusChange{.status = Status::completed};

  commit(lease, made);

  EXPECT_EQ(row(session).status, Status::completed);
}

TEST_P(EndedContract, ACallOfAnotherSessionKeepsNothingOpen) {
  in_state(own(create("other"), "another"), CallState::in_doubt);
  const Lease lease = own(create());
  change(lease, {.status = Status::completed});
  EXPECT_EQ(row(lease.session).status, Status::completed);
}

TEST_P(EndedContract, WhatIsCancelledMayHaveOpenCallsAndTheyAreSettledLater) {
  const Lease lease = own(create());
  const Position late = in_state(lease, CallState::dispatched);
  const Position doubtful = in_state(lease, CallState::in_doubt);
  change(lease, {.status = Status::cancelled});
  EXPECT_TRUE(row(lease.session).needs_attention());

  apply(lease, Settle{.call = late, .state = CallState::succeeded});
  apply(lease, Settle{.call = doubtful, .state = CallState::abandoned, .who = "ann"});
  say(lease, "what it cost");

  EXPECT_EQ(call(lease.session, late).state, CallState::succeeded);
  EXPECT_EQ(call(lease.session, doubtful).state, CallState::abandoned);
  EXPECT_FALSE(row(lease.session).needs_attention());
  EXPECT_EQ(row(lease.session).status, Status::cancelled);
}

TEST_P(EndedContract, AnEndedSessionBeginsNothing) {
  for (const Status end : ends) {
    const Lease lease = ended(end);
    const SessionId& session = lease.session;
    const Position next = row(session).next;

    Batch intends = batch_of(session, {message("arguments", "calls")});
    intends.calls = {Intend{.call = next, .args = next, .tool = "send"}};
    expect_refused(lease, intends);
    // Also if nothing of it would be left open.
    intends.calls.emplace_back(Settle{next, CallState::cancelled});
    expect_refused(lease, intends);

    Batch dispatches = batch(session);
    dispatches.calls = {Dispatch{.call = failed}};
    expect_refused(lease, dispatches);
    dispatches.status = StatusChange{.status = Status::cancelled, .wait_reason = "still"};
    expect_refused(lease, dispatches);

    Batch spawns = batch_of(session, {message("spawn")});
    spawns.children = {
        {.id = session_id("child of " + session.text()),
         .origin = NewSession::Origin{.session = session, .lineage = Lineage::child}}};
    expect_refused(lease, spawns);
  }
}

TEST_P(EndedContract, TheBatchThatEndsASessionBeginsNothing) {
  const Lease lease = own(create());
  const Position call = intend(lease);
  Batch made = batch(lease.session);
  made.calls = {Dispatch{.call = call}};
  made.status = StatusChange{.status = Status::cancelled};
  expect_refused(lease, made);
}

TEST_P(EndedContract, ASessionThatIsReopenedBeginsAgain) {
  for (const Status end : ends) {
    const Lease lease = ended(end);
    Batch made = batch(lease.session);
    made.calls = {Dispatch{.call = failed}};
    made.status = StatusChange{};

    commit(lease, made);

    EXPECT_EQ(call(lease.session, failed).state, CallState::dispatched);
    EXPECT_EQ(row(lease.session).status, Status::active);
  }
}

}  // namespace
}  // namespace perdure
