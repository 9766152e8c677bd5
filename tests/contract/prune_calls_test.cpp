// retention.hpp made executable: what calls need is not pruned.

#include "contract/store_contract.hpp"

namespace perdure {
namespace {

using testing::ElementsAre;

class PruneCallsContract : public StoreContract {
 protected:
  /// Replaces all that is on the channel of calls, and prunes.
  std::vector<std::string> after_prune(const Lease& lease) {
    commit(lease, batch_of(lease.session, {value("end", "calls")}));
    must(store->upkeep().prune(lease.session, {.last = 0}));
    return texts(lease.session);
  }
};

INSTANTIATE_TEST_SUITE_P(EveryBackend, PruneCallsContract, testing::ValuesIn(every_form()),
                         name_of);

TEST_P(PruneCallsContract, EntriesOfAnUnresolvedCallStay) {
  for (const CallState state : {CallState::intended, CallState::dispatched, CallState::in_doubt}) {
    const Lease lease = own(create(std::string(to_string(state))));
    Batch made = batch_of(lease.session, {message("args", "calls"), message("intent", "calls")});
    made.calls = {Intend{.call = 2, .args = 1, .tool = "send"}};
    commit(lease, made);
    if (state != CallState::intended) apply(lease, Dispatch{.call = 2});
    if (state == CallState::in_doubt) {
      Batch settled = batch_of(lease.session, {message("result", "calls")});
      settled.calls = {Settle{.call = 2, .state = state, .result = 3}};
      commit(lease, settled);
      EXPECT_THAT(after_prune(lease), ElementsAre("args", "intent", "result", "end"));
    } else {
      EXPECT_THAT(after_prune(lease), ElementsAre("args", "intent", "end")) << to_string(state);
    }
  }
}

TEST_P(PruneCallsContract, OfASettledCallOnlyTheResultBehindAKeyStays) {
  for (const bool has_key : {true, false}) {
    const Lease lease = own(create(has_key ? "key" : "none"));
    const auto key = has_key ? std::optional(sha256("key")) : std::nullopt;
    const Position call = in_state(lease, CallState::dispatched, key);
    Batch settled = batch_of(lease.session, {message("result", "calls")});
    settled.calls = {Settle{.call = call, .state = CallState::succeeded, .result = call + 1}};
    commit(lease, settled);

    if (has_key) {
      EXPECT_THAT(after_prune(lease), ElementsAre("result", "end"));
    } else {
      EXPECT_THAT(after_prune(lease), ElementsAre("end"));
    }
  }
}

TEST_P(PruneCallsContract, TheResultOfAFailedCallGoes) {
  const Lease lease = own(create());
  const Position call = in_state(lease, CallState::dispatched, sha256("key"));
  Batch settled = batch_of(lease.session, {message("result", "calls")});
  settled.calls = {Settle{.call = call, .state = CallState::failed, .result = call + 1}};
  commit(lease, settled);

  EXPECT_THAT(after_prune(lease), ElementsAre("end"));
}

TEST_P(PruneCallsContract, WhatTheCallOfAForkNeedsOfTheSharedPartStays) {
  const Lease lease = own(create());
  commit(lease, batch_of(lease.session, {message("args", "calls"), value("end", "calls")}));
  const Lease other = own(fork("fork", lease.session, Point::head()));
  Batch made = batch_of(other.session, {message("intent", "calls")});
  made.calls = {Intend{.call = 3, .args = 1, .tool = "send"}};
  commit(other, made);

  must(store->upkeep().prune(lease.session, {.last = 0}));
  EXPECT_THAT(texts(lease.session), ElementsAre("args", "end"));

  apply(other, Settle{.call = 3, .state = CallState::denied});
  must(store->upkeep().prune(lease.session, {.last = 0}));
  EXPECT_THAT(texts(lease.session), ElementsAre("end"));
}

TEST_P(PruneCallsContract, TheSharedResultOfAForksCallStaysWithItsKey) {
  const Lease lease = own(create());
  commit(lease, batch_of(lease.session, {message("old", "calls"), message("result", "calls"),
                                         value("end", "calls")}));
  const Lease other = own(fork("fork", lease.session, Point::head()));
  Batch made = batch_of(other.session, {message("intent", "calls")});
  made.calls = {Intend{.call = 4, .args = 4, .tool = "send", .key = sha256("key")},
                Dispatch{.call = 4}, Settle{.call = 4, .state = CallState::succeeded, .result = 2}};
  commit(other, made);

  must(store->upkeep().prune(lease.session, {.last = 0}));

  EXPECT_THAT(texts(lease.session), ElementsAre("result", "end"));
}

TEST_P(PruneCallsContract, APositionOfAForkThatIsAnotherEntryProtectsNothing) {
  const Lease lease = own(create());
  say(lease, "shared");
  const Lease other = own(fork("fork", lease.session, Point::head()));
  // Position 2 is the call's in the fork, and something else here.
  intend(other);
  commit(lease, batch_of(lease.session, {message("old", "calls"), value("end", "calls")}));

  EXPECT_EQ(must(store->upkeep().prune(lease.session, {})).entries, 1U);
}

TEST_P(PruneCallsContract, ThePointsBesideAProtectedEntryAreReadable) {
  const Lease lease = own(create());
  intend(lease);
  commit(lease, batch_of(lease.session, {value("end", "calls")}));

  must(store->upkeep().prune(lease.session, {.last = 0}));

  EXPECT_THAT(texts(lease.session, as_of(Point::position(1))), ElementsAre("arguments"));
}

}  // namespace
}  // namespace perdure
