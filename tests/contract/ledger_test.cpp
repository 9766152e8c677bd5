// ledger.hpp made executable.

#include "contract/store_contract.hpp"
#include "store/api/lookup.hpp"

namespace perdure {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::array all_states = {
    CallState::intended, CallState::dispatched, CallState::succeeded, CallState::failed,
    CallState::in_doubt, CallState::abandoned,  CallState::denied,    CallState::cancelled,
};

/// The arrows of ledger.hpp, written down a second time.
bool has_arrow(CallState from, CallState to) {
  const auto to_one_of = [&](std::initializer_list<CallState> states) {
    return std::ranges::find(states, to) != states.end();
  };
  switch (from) {
    case CallState::intended:
      return to_one_of({CallState::dispatched, CallState::denied, CallState::cancelled});
    case CallState::dispatched:
      return to_one_of({CallState::succeeded, CallState::failed, CallState::in_doubt});
    case CallState::failed:
      return to_one_of({CallState::dispatched});
    case CallState::in_doubt:
      return to_one_of(
          {CallState::succeeded, CallState::failed, CallState::abandoned, CallState::dispatched});
    default:
      return false;
  }
}

bool holds(CallState state) {
  return state == CallState::dispatched || state == CallState::in_doubt ||
         state == CallState::succeeded || state == CallState::abandoned;
}

CallChange to_state(Position call, CallState state) {
  if (state == CallState::dispatched) return Dispatch{.call = call};
  return Settle{.call = call, .state = state};
}

class LedgerContract : public StoreContract {
 protected:
  Result<Receipt> attempt(const Lease& by, std::vector<CallChange> changes) {
    Batch made = batch(by.session);
    made.calls = std::move(changes);
    return store->commit(by, made);
  }
  std::vector<Position> list(const CallQuery& query) {
    std::vector<Position> found;
    for (const Call& one : must(store->ledger().list(query))) found.push_back(one.position);
    return found;
  }

  SessionId session = create();
  Lease lease = own(session);
  const Digest key = sha256("key");
};

INSTANTIATE_TEST_SUITE_P(EveryBackend, LedgerContract, testing::ValuesIn(every_form()), name_of);

TEST_P(LedgerContract, AnIntentWritesACallDown) {
  say(lease, "arguments");
  clock.advance(1s);
  Batch made = batch_of(session, {message("intent")});
  made.calls = {Intend{.call = 2,
                       .args = 1,
                       .tool = "send mail",
                       .provider_id = "toolu_1",
                       .effect = EffectClass::verifiable,
                       .key = key}};
  commit(lease, made);

  EXPECT_EQ(call(session, 2), (Call{.session = session,
                                    .position = 2,
                                    .args = 1,
                                    .tool = "send mail",
                                    .provider_id = "toolu_1",
                                    .effect = EffectClass::verifiable,
                                    .key = key,
                                    .state = CallState::intended,
                                    .intended_at = clock.now()}));
}

TEST_P(LedgerContract, ADispatchStartsAnAttemptUnderTheFenceOfTheLease) {
  const Position at = intend(lease);
  must(store->ownership().release(lease));
  const Lease second = own(session, "another");
  clock.advance(1s);

  apply(second, Dispatch{.call = at, .deadline = clock.now() + 5s});

  const Call started = call(session, at);
  EXPECT_EQ(started.state, CallState::dispatched);
  EXPECT_EQ(started.attempts, 1);
  EXPECT_EQ(started.fence, second.fence);
  EXPECT_EQ(started.dispatched_at, clock.now());
  EXPECT_EQ(started.deadline, clock.now() + 5s);
  EXPECT_EQ(started.intended_at, clock.now() - 1s);
  EXPECT_EQ(started.settled_at, std::nullopt);
}

TEST_P(LedgerContract, ASettlementSaysWhatBecameOfTheCall) {
  const Position at = in_state(lease, CallState::in_doubt);
  clock.advance(1s);
  Batch made = batch_of(session, {message("result")});
  made.calls = {Settle{.call = at,
                       .state = CallState::succeeded,
                       .result = 2,
                       .who = "ann",
                       .why = "seen in\nthe outbox"}};
  commit(lease, made);

  const Call settled = call(session, at);
  EXPECT_EQ(settled.state, CallState::succeeded);
  EXPECT_EQ(settled.result, 2U);
  EXPECT_EQ(settled.who, "ann");
  EXPECT_EQ(settled.why, "seen in\nthe outbox");
  EXPECT_EQ(settled.settled_at, clock.now());
  EXPECT_EQ(settled.attempts, 1);
}

TEST_P(LedgerContract, StatesMoveAlongTheArrowsOnly) {
  for (const CallState from : all_states) {
    for (const CallState to : all_states) {
      if (to == CallState::intended) continue;
      const Position at = in_state(lease, from);
      const Call before = call(session, at);

      const auto moved = attempt(lease, {to_state(at, to)});

      const std::string arrow = describe(from) + " to " + describe(to);
      if (has_arrow(from, to)) {
        EXPECT_EQ(call(session, at).state, to) << arrow;
      } else {
        EXPECT_EQ(code_of(moved), ErrorCode::conflict) << arrow;
        EXPECT_EQ(subject_of(moved), call_name(session, at)) << arrow;
        EXPECT_EQ(call(session, at), before) << arrow;
      }
    }
  }
}

TEST_P(LedgerContract, AttemptsAndFailuresAreCounted) {
  const Position at = intend(lease);
  for (int i = 0; i < 3; ++i) {
    apply(lease, Dispatch{.call = at});
    apply(lease, Settle{.call = at, .state = CallState::failed});
  }
  apply(lease, Dispatch{.call = at});
  apply(lease, Settle{.call = at, .state = CallState::in_doubt});
  apply(lease, Dispatch{.call = at});

  EXPECT_EQ(call(session, at).attempts, 5);
  EXPECT_EQ(call(session, at).failures, 3);
}

TEST_P(LedgerContract, ChangesOfOneBatchAreAppliedInOrder) {
  Batch made = batch_of(session, {message("arguments"), message("result")});
  made.calls = {Intend{.call = 1, .args = 1, .tool = "t"}, Dispatch{.call = 1},
                Settle{.call = 1, .state = CallState::succeeded, .result = 2}};
  commit(lease, made);
  EXPECT_EQ(call(session, 1).state, CallState::succeeded);

  made = batch_of(session, {message("arguments")});
  made.calls = {Dispatch{.call = 3}, Intend{.call = 3, .args = 3, .tool = "t"}};
  const auto before = everything(*store);
  EXPECT_FALSE(store->commit(lease, made));
  EXPECT_EQ(everything(*store), before);
}

TEST_P(LedgerContract, AnIntentIsAnEntryOfItsOwnBatch) {
  say(lease, "one");
  for (const Position at : {Position{0}, Position{1}, Position{3}, Position{99}}) {
    Batch made = batch_of(session, {message("two")});
    made.calls = {Intend{.call = at, .args = 1, .tool = "t"}};
    EXPECT_EQ(code_of(store->commit(lease, made)), ErrorCode::invalid_argument) << at;
  }
  EXPECT_THAT(list({}), IsEmpty());
  EXPECT_THAT(texts(session), ElementsAre("one"));
}

TEST_P(LedgerContract, ArgumentsAndResultsMustBeOnTheLine) {
  say(lease, "one");
  say(lease, "two");
  branch(lease, Point::position(1), "three");  // Position 2 is not on the line any more.
  for (const Position args : {Position{0}, Position{2}, Position{5}}) {
    Batch made = batch_of(session, {message("four")});
    made.calls = {Intend{.call = 4, .args = args, .tool = "t"}};
    EXPECT_EQ(code_of(store->commit(lease, made)), ErrorCode::invalid_argument) << args;
  }
  const Position at = in_state(lease, CallState::dispatched);
  for (const Position result : {Position{0}, Position{2}, Position{5}}) {
    const Settle settle{.call = at, .state = CallState::succeeded, .result = result};
    EXPECT_EQ(code_of(attempt(lease, {settle})), ErrorCode::invalid_argument) << result;
  }
  EXPECT_EQ(call(session, at).state, CallState::dispatched);
  apply(lease, Settle{.call = at, .state = CallState::succeeded, .result = 1});
}

TEST_P(LedgerContract, ACallIsIntendedOnce) {
  Batch made = batch_of(session, {message("arguments")});
  made.calls = {Intend{.call = 1, .args = 1, .tool = "a"},
                Intend{.call = 1, .args = 1, .tool = "b"}};

  EXPECT_EQ(code_of(store->commit(lease, made)), ErrorCode::already_exists);
  EXPECT_THAT(list({}), IsEmpty());
}

TEST_P(LedgerContract, ACallThatWasNeverIntendedCannotMove) {
  say(lease, "one");

  for (const CallChange& change : {CallChange(Dispatch{.call = 1}),
                                   CallChange(Settle{.call = 1, .state = CallState::denied})}) {
    EXPECT_FALSE(attempt(lease, {change}));
  }
  EXPECT_THAT(list({}), IsEmpty());
}

TEST_P(LedgerContract, AKeyIsHeldWhileDispatchedInDoubtSucceededOrAbandoned) {
  for (const CallState state : all_states) {
    const Digest mine = sha256(std::string(to_string(state)));
    const Position holder = in_state(lease, state, mine);
    const Position rival = intend(lease, mine);

    const auto found = must(store->ledger().find_holder(mine));
    const auto claim = attempt(lease, {Dispatch{.call = rival}});

    if (holds(state)) {
      EXPECT_EQ(found, call(session, holder)) << describe(state);
      EXPECT_EQ(code_of(claim), ErrorCode::conflict) << describe(state);
      EXPECT_EQ(subject_of(claim), call_name(session, holder)) << describe(state);
      EXPECT_EQ(call(session, rival).state, CallState::intended);
    } else {
      EXPECT_EQ(found, std::nullopt) << describe(state);
      EXPECT_TRUE(claim) << describe(state);
      EXPECT_EQ(must(store->ledger().find_holder(mine)), call(session, rival));
    }
  }
}

TEST_P(LedgerContract, AKeyIsClaimedAcrossSessions) {
  const Lease other = own(create("other"));
  const Position first = in_state(lease, CallState::dispatched, key);
  const Position second = intend(other, key);

  const auto claim = attempt(other, {Dispatch{.call = second}});

  EXPECT_EQ(code_of(claim), ErrorCode::conflict);
  EXPECT_EQ(subject_of(claim), call_name(session, first));
}

TEST_P(LedgerContract, AFailedCallFreesItsKeyAndMustClaimItAgain) {
  const Position first = in_state(lease, CallState::failed, key);
  const Position second = in_state(lease, CallState::dispatched, key);

  const auto again = attempt(lease, {Dispatch{.call = first}});

  EXPECT_EQ(code_of(again), ErrorCode::conflict);
  EXPECT_EQ(subject_of(again), call_name(session, second));
}

TEST_P(LedgerContract, ACallInDoubtIsDispatchedAgainUnderTheKeyItHolds) {
  const Position at = in_state(lease, CallState::in_doubt, key);

  apply(lease, Dispatch{.call = at});

  EXPECT_EQ(call(session, at).attempts, 2);
  EXPECT_EQ(must(store->ledger().find_holder(key))->position, at);
}

TEST_P(LedgerContract, AKeyFreedInABatchCanBeClaimedLaterInIt) {
  const Position first = in_state(lease, CallState::dispatched, key);
  const Position second = intend(lease, key);
  const Settle failed{.call = first, .state = CallState::failed};

  EXPECT_EQ(code_of(attempt(lease, {Dispatch{.call = second}, failed})), ErrorCode::conflict);
  EXPECT_EQ(call(session, first).state, CallState::dispatched);

  EXPECT_TRUE(attempt(lease, {failed, Dispatch{.call = second}}));
  EXPECT_EQ(must(store->ledger().find_holder(key))->position, second);
}

TEST_P(LedgerContract, CallsWithoutAKeyNeverClash) {
  in_state(lease, CallState::dispatched);
  in_state(lease, CallState::dispatched);

  EXPECT_EQ(list({.states = {CallState::dispatched}}).size(), 2U);
}

TEST_P(LedgerContract, AllCallsOfAKeyAreFoundOldestFirst) {
  const Lease other = own(create("another session"));
  in_state(lease, CallState::failed, key);
  clock.advance(1s);
  in_state(other, CallState::denied, key);
  clock.advance(1s);
  in_state(lease, CallState::succeeded, key);
  in_state(lease, CallState::succeeded, sha256("another"));

  EXPECT_THAT(must(store->lookup().by_key(key)),
              ElementsAre(call(session, 1), call(other.session, 1), call(session, 2)));
  EXPECT_THAT(must(store->lookup().by_key(sha256("unknown"))), IsEmpty());
  EXPECT_EQ(must(store->ledger().find_holder(sha256("unknown"))), std::nullopt);
}

TEST_P(LedgerContract, UnknownCallsAreNotFound) {
  say(lease, "not a call");

  EXPECT_EQ(code_of(store->ledger().read(session, 1)), ErrorCode::not_found);
  EXPECT_EQ(code_of(store->ledger().read(session, 99)), ErrorCode::not_found);
  EXPECT_EQ(code_of(store->ledger().read(session_id("nobody"), 1)), ErrorCode::not_found);
}

TEST_P(LedgerContract, CallsAreListedByTheAgeOfTheirSessionThenByPosition) {
  clock.advance(1s);
  const Lease younger = own(create("a younger one"));
  in_state(younger, CallState::intended);
  in_state(lease, CallState::intended);
  in_state(lease, CallState::dispatched);

  EXPECT_THAT(must(store->ledger().list({})),
              ElementsAre(call(session, 1), call(session, 2), call(younger.session, 1)));
}

TEST_P(LedgerContract, CallsAreSelectedBySessionStateAndLimit) {
  const Lease other = own(create("other"));
  in_state(lease, CallState::intended);
  in_state(lease, CallState::in_doubt);
  in_state(lease, CallState::succeeded);
  in_state(other, CallState::in_doubt);

  EXPECT_THAT(list({.session = session}), ElementsAre(1U, 2U, 3U));
  EXPECT_THAT(list({.session = session, .states = {CallState::in_doubt, CallState::succeeded}}),
              ElementsAre(2U, 3U));
  EXPECT_THAT(list({.states = {CallState::in_doubt}}), ElementsAre(2U, 1U));
  EXPECT_THAT(list({.limit = 2}), ElementsAre(1U, 2U));
  EXPECT_THAT(list({.states = {CallState::denied}}), IsEmpty());
}

// Page by page it is the same list, whatever is asked for, and whatever is in between.
TEST_P(LedgerContract, PagesGoOnBehindTheirLastCall) {
  const Lease other = own(create("another"));
  for (const Lease& one : {lease, other, lease}) {
    in_state(one, CallState::in_doubt);
    in_state(one, CallState::succeeded);
    in_state(one, CallState::intended);
  }
  for (const std::vector<CallState>& states :
       {std::vector<CallState>{},
        {CallState::in_doubt},
        {CallState::intended, CallState::in_doubt, CallState::intended},
        {CallState::succeeded, CallState::in_doubt}}) {
    for (const std::optional<SessionId>& of :
         {std::optional<SessionId>(), std::optional(session)}) {
      CallQuery query{.session = of, .states = states};
      const std::vector<Call> all = must(store->ledger().list(query));
      query.limit = 2;
      std::vector<Call> paged;
      for (int pages = 0; pages < 20; ++pages) {
        const std::vector<Call> page = must(store->ledger().list(query));
        paged.insert(paged.end(), page.begin(), page.end());
        if (page.size() < 2) break;
        query.after = CallId{page.back().session, page.back().position};
      }
      EXPECT_EQ(paged, all);
      EXPECT_GE(all.size(), 2U);
    }
  }
}

TEST_P(LedgerContract, APageBeginsBehindAPlaceWhereNoCallIs) {
  in_state(lease, CallState::in_doubt);
  const Lease other = own(create("other"));
  in_state(other, CallState::in_doubt);

  EXPECT_THAT(must(store->ledger().list({.after = CallId{session, 999}})),
              ElementsAre(call(other.session, 1)));
  EXPECT_THAT(list({.after = CallId{other.session, ~Position{0}}}), IsEmpty());
  EXPECT_EQ(code_of(store->ledger().list({.after = CallId{session_id("nobody"), 1}})),
            ErrorCode::not_found);
}

TEST_P(LedgerContract, ListingAnUnknownSessionOrABadLimitFails) {
  EXPECT_EQ(code_of(store->ledger().list({.session = session_id("nobody")})), ErrorCode::not_found);
  EXPECT_EQ(code_of(store->ledger().list({.limit = 0})), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of(store->ledger().list({.limit = limit_max + 1})), ErrorCode::invalid_argument);
}

TEST_P(LedgerContract, AttentionCountsTheCallsInDoubt) {
  const Position first = in_state(lease, CallState::in_doubt);
  const Position second = in_state(lease, CallState::in_doubt);
  EXPECT_EQ(row(session).attention, 2);
  EXPECT_TRUE(row(session).needs_attention());

  apply(lease, Settle{.call = first, .state = CallState::abandoned});
  EXPECT_EQ(row(session).attention, 1);

  apply(lease, Dispatch{.call = second});
  EXPECT_EQ(row(session).attention, 0);
  EXPECT_FALSE(row(session).needs_attention());
}

TEST_P(LedgerContract, ACallStaysInTheLedgerWhenABranchLeavesItsLine) {
  say(lease, "one");
  const Position at = in_state(lease, CallState::in_doubt, key);
  branch(lease, Point::position(1), "another way");

  EXPECT_EQ(call(session, at).state, CallState::in_doubt);
  EXPECT_EQ(row(session).attention, 1);
  EXPECT_EQ(must(store->ledger().find_holder(key))->position, at);
  apply(lease, Settle{.call = at, .state = CallState::abandoned});
  EXPECT_EQ(row(session).attention, 0);
}

TEST_P(LedgerContract, AnUnresolvedCallBelongsToTheSessionThatIssuedIt) {
  const Position at = in_state(lease, CallState::in_doubt);
  const Lease forked = own(fork("fork", session, Point::head()));

  EXPECT_EQ(code_of(store->ledger().read(forked.session, at)), ErrorCode::not_found);
  EXPECT_EQ(row(forked.session).attention, 0);
  EXPECT_FALSE(attempt(forked, {Dispatch{.call = at}}));
  EXPECT_EQ(call(session, at).attempts, 1);
}

}  // namespace
}  // namespace perdure
