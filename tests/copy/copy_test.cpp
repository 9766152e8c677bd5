// upkeep.hpp made executable: from every backend into every backend, and between a file and a server in
// each of its forms.

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "contract/backends.hpp"
#include "contract/describe.hpp"
#include "copy/household.hpp"
#include "copy/two_stores.hpp"
#include "doubles/difference.hpp"
#include "doubles/false_store.hpp"
#include "doubles/must.hpp"
#include "perdure/store/upkeep.hpp"
#include "store/api/lookup.hpp"
#include "store/api/seam.hpp"

namespace perdure {
namespace {

using testing::SizeIs;

std::vector<Route> every_route() {
  std::vector<Route> routes;
  for (const Backend& from : every_backend()) {
    for (const Backend& to : every_backend()) routes.push_back({from, to});
  }
  for (const Backend& file : file_backends()) {
    for (const Backend& form : every_form()) {
      if (form.options.empty()) continue;
      routes.push_back({file, form});
      routes.push_back({form, file});
    }
  }
  return routes;
}

std::string name_of(const testing::TestParamInfo<Route>& info) {
  return testing::PrintToString(info.param);
}

SessionId id_of(const std::string& name) { return must(SessionId::parse(name)); }

class CopyTest : public TwoStores {
 protected:
  SessionId create(Store& store, const std::string& name) {
    return must(store.sessions().create({.id = id_of(name)})).id;
  }
};

INSTANTIATE_TEST_SUITE_P(EveryRoute, CopyTest, testing::ValuesIn(every_route()), name_of);

TEST_P(CopyTest, EverythingIsThereAsItWas) {
  furnish(*from, clock, Size::crowded);
  const std::string before = portrait(*from);

  const MoveReport report = must(move_sessions(*from, *to));

  EXPECT_EQ(difference(before, portrait(*to)), "");
  EXPECT_EQ(difference(before, portrait(*from)), "") << "as it stays readable in the source";
  EXPECT_TRUE(report.is_complete);
  EXPECT_EQ(report.sessions, 610U);
  EXPECT_EQ(report.claims, 2U);
  EXPECT_EQ(report.blobs, 2U);
  EXPECT_EQ(report.damaged, 0U);
  EXPECT_EQ(report.calls, must(to->ledger().list({})).size());
  EXPECT_THAT(runnable(*from), SizeIs(0));
  EXPECT_THAT(runnable(*to), SizeIs(610));
  expect_sound(*from);
  expect_sound(*to);
}

TEST_P(CopyTest, AndGoesOnThere) {
  furnish(*from, clock, Size::small);
  const SessionSummary before = must(from->sessions().read(id_of("main")));
  must(move_sessions(*from, *to));

  const Lease lease = own(*to, id_of("main"));
  EXPECT_GT(lease.fence, Fence{1} << 32U);
  const auto repeated = to->commit(lease, {.id = must(BatchId::parse("b1")), .expected_head = 999});
  EXPECT_EQ(must(repeated).first, 1U);
  for (const char* id : {"m1", "m2"}) {
    must(to->inbox().post({.session = id_of("main"),
                           .id = must(MessageId::parse(id)),
                           .kind = "note",
                           .body = Body::from_text("{}")}));
  }
  EXPECT_THAT(must(to->inbox().list(id_of("main"), 10)), SizeIs(3)) << "what was posted before";
  EXPECT_EQ(say(*to, id_of("main")).first, before.next);
  EXPECT_EQ(must(from->sessions().read(id_of("main"))).head, before.head);
  const auto printer = must(to->lookup().acquire_resource("printer", worker));
  EXPECT_GT(printer.fence, Fence{1} << 32U);
  must(to->upkeep().remove(id_of("fork of fork")));
  must(to->upkeep().remove(id_of("heir")));
  must(to->upkeep().prune(id_of("trimmed"), {.last = 1}));
  expect_sound(*to);
}

TEST_P(CopyTest, RepeatingItChangesNothing) {
  furnish(*from, clock, Size::small);
  must(move_sessions(*from, *to));
  const std::string there = portrait(*to);

  const MoveReport again = must(move_sessions(*from, *to));

  EXPECT_EQ(again.sessions, 0U);
  EXPECT_EQ(portrait(*to), there);
  EXPECT_TRUE(move_sessions(*from, *to, {.sessions = {id_of("empty")}}));
}

TEST_P(CopyTest, ATargetMayHoldOthersAlready) {
  create(*to, "native");
  say(*to, id_of("native"));
  must(to->lookup().acquire_resource("printer", worker));
  furnish(*from, clock, Size::small);
  const std::string before = portrait(*from);
  const auto native = describe(to->log().read(id_of("native"), {}));

  must(move_sessions(*from, *to));

  EXPECT_EQ(describe(to->log().read(id_of("native"), {})), native);
  say(*to, id_of("native"));
  must(to->upkeep().remove(id_of("native")));
  EXPECT_EQ(difference(before, portrait(*to)), "");
  expect_sound(*to);
}

TEST_P(CopyTest, OneFamilyGoesAndOthersStay) {
  furnish(*from, clock, Size::small);

  const auto split = move_sessions(*from, *to, {.sessions = {id_of("main")}});
  ASSERT_FALSE(split);
  EXPECT_EQ(split.error().code, ErrorCode::conflict);
  EXPECT_EQ(split.error().subject, "child");
  EXPECT_THAT(runnable(*from), SizeIs(9));

  const MoveReport report = must(move_sessions(
      *from, *to,
      {.sessions = {id_of("main"), id_of("child"), id_of("fork"), id_of("fork of fork")}}));
  EXPECT_EQ(report.sessions, 4U);
  EXPECT_THAT(runnable(*from), SizeIs(5));
  EXPECT_THAT(runnable(*to), SizeIs(4));
  say(*from, id_of("trimmed"));
  say(*to, id_of("fork"));
  EXPECT_EQ(must(move_sessions(*from, *to)).sessions, 5U);
  EXPECT_THAT(runnable(*to), SizeIs(9));
  expect_sound(*to);
}

TEST_P(CopyTest, APlanRefusesWhatAMoveWouldAndChangesNothing) {
  furnish(*from, clock, Size::small);
  const std::string before = portrait(*from);
  const MoveOptions main{.sessions = {id_of("main")}};

  const auto planned = plan_move(*from, main);
  const auto moved = move_sessions(*from, *to, main);

  ASSERT_FALSE(planned);
  ASSERT_FALSE(moved);
  EXPECT_EQ(planned.error().code, moved.error().code);
  EXPECT_EQ(planned.error().message, moved.error().message);
  EXPECT_EQ(plan_move(*from, {.sessions = {id_of("nobody")}}).error().code, ErrorCode::not_found);
  EXPECT_EQ(must(plan_move(*from)).size(), must(from->sessions().list({})).sessions.size());
  const Lease lease = own(*from, id_of("heir"));
  EXPECT_EQ(plan_move(*from).error().code, ErrorCode::lease_held);
  must(from->ownership().release(lease));
  EXPECT_EQ(difference(before, portrait(*from)), "");
}

TEST_P(CopyTest, RelativesGoAlongIfThatIsAskedFor) {
  furnish(*from, clock, Size::small);
  const MoveOptions family{
      .sessions = {id_of("main")}, .with_relatives = true, .place = "elsewhere"};

  const auto planned = must(plan_move(*from, family));
  const MoveReport report = must(move_sessions(*from, *to, family));

  EXPECT_GT(planned.size(), 1U);
  EXPECT_EQ(report.sessions, planned.size());
  for (const SessionId& session : planned) EXPECT_TRUE(to->sessions().read(session));
  EXPECT_TRUE(must(plan_move(*from, family)).empty()) << "they are there";
  expect_sound(*to);
}

TEST_P(CopyTest, AnIdThatIsInUseLeavesEverythingAsItWas) {
  furnish(*from, clock, Size::small);
  const std::string before = portrait(*from);
  create(*to, "trimmed");

  const auto refused = move_sessions(*from, *to);

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::already_exists);
  EXPECT_EQ(refused.error().subject, "trimmed");
  EXPECT_EQ(portrait(*from), before);
  EXPECT_THAT(runnable(*from), SizeIs(9));
  EXPECT_THAT(runnable(*to), SizeIs(1));
  say(*from, id_of("main"));
  expect_sound(*to);
  must(to->upkeep().remove(id_of("trimmed")));
  EXPECT_TRUE(move_sessions(*from, *to));
}

TEST_P(CopyTest, ALiveOwnerIsLeftAlone) {
  furnish(*from, clock, Size::small);
  own(*from, id_of("heir"));

  const auto refused = move_sessions(*from, *to);

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::lease_held);
  EXPECT_EQ(refused.error().subject, "worker");
  say(*from, id_of("main"));
  must(from->ownership().retire(worker));
  EXPECT_TRUE(move_sessions(*from, *to));
}

TEST_P(CopyTest, StoppedItHasChangedNothing) {
  furnish(*from, clock, Size::large);
  const std::string before = portrait(*from);
  for (const int step : {1, 3, 9, 20}) {
    ASSERT_FALSE(must(move_sessions(*from, *to, {}, stop_at(step))).is_complete) << step;
    EXPECT_THAT(runnable(*from), SizeIs(10));
    EXPECT_THAT(runnable(*to), SizeIs(0));
    EXPECT_EQ(must(to->upkeep().check()).entries, 0U);
  }
  must(move_sessions(*from, *to));
  EXPECT_EQ(difference(before, portrait(*to)), "");
  EXPECT_THAT(runnable(*to), SizeIs(10));
  expect_sound(*to);
}

TEST_P(CopyTest, AbandonedItIsAsBefore) {
  furnish(*from, clock, Size::large);
  const std::string before = portrait(*from);
  for (const int step : {1, 2, 4, 7, 12, 25}) {
    ASSERT_FALSE(must(move_sessions(*from, *to, {}, stop_at(step))).is_complete) << step;
    must(abandon_move(*from, *to));
    EXPECT_THAT(runnable(*from), SizeIs(10));
    EXPECT_THAT(must(to->sessions().list({})).sessions, SizeIs(0));
    expect_sound(*to);
  }
  must(abandon_move(*from, *to));
  EXPECT_EQ(difference(before, portrait(*from)), "");
  say(*from, id_of("heir"));
  must(move_sessions(*from, *to));
  EXPECT_EQ(difference(portrait(*from), portrait(*to)), "");
}

TEST_P(CopyTest, ItTellsHowFarItHasCome) {
  furnish(*from, clock, Size::large);
  std::vector<Step> steps;

  must(move_sessions(*from, *to, {}, [&](const Step& step) {
    steps.push_back(step);
    return true;
  }));

  EXPECT_GT(steps.size(), 10U);
  EXPECT_TRUE(std::ranges::is_sorted(steps, {}, &Step::done));
  EXPECT_TRUE(std::ranges::all_of(steps, [](const Step& s) { return s.done <= s.total; }));
  EXPECT_EQ(steps.back().done, steps.back().total);
}

TEST_P(CopyTest, OthersGoOnInBothStoresMeanwhile) {
  furnish(*from, clock, Size::small);
  create(*to, "native");
  std::vector<SessionId> leaving;
  for (const char* name : {"main", "child", "fork", "fork of fork"}) leaving.push_back(id_of(name));
  int steps = 0;

  must(move_sessions(*from, *to, {.sessions = leaving}, [&](const Step& step) {
    if (step.done == step.total) return true;  // All is done.
    ++steps;
    say(*from, id_of("trimmed"));
    say(*to, id_of("native"));
    create(*to, "new " + std::to_string(steps));
    create(*from, "new " + std::to_string(steps));
    EXPECT_EQ(to->sessions().read(id_of("main")).error().code, ErrorCode::not_found);
    if (steps > 1) {
      EXPECT_EQ(to->sessions().create({.id = id_of("main")}).error().code,
                ErrorCode::already_exists);
    }
    return true;
  }));

  EXPECT_GT(steps, 5);
  EXPECT_THAT(runnable(*to), SizeIs(5 + steps));
  expect_sound(*from);
  expect_sound(*to);
}

TEST_P(CopyTest, OfTwoThatCopyOneGoesOn) {
  furnish(*from, clock, Size::large);
  const std::string before = portrait(*from);
  bool is_first = true;

  const auto outdated = move_sessions(*from, *to, {}, [&](const Step& step) {
    if (is_first && step.done > 700) {
      is_first = false;
      must(move_sessions(*from, *to));
    }
    return true;
  });

  ASSERT_FALSE(outdated);
  EXPECT_EQ(outdated.error().code, ErrorCode::lease_lost);
  EXPECT_EQ(difference(before, portrait(*to)), "");
  EXPECT_THAT(runnable(*from), SizeIs(0));
}

// Facts were read and compared, and nothing is marked yet.
TEST_P(CopyTest, WhatChangesBeforeTheMarkIsMovedAsItIsThen) {
  furnish(*from, clock, Size::small);
  FalseStore source(*from);
  int marks = 0;
  source.before_mark([&] {
    if (++marks == 1) say(*from, id_of("trimmed"));
  });

  const MoveReport report = must(move_sessions(source, *to));

  EXPECT_EQ(marks, 2);
  EXPECT_EQ(report.sessions, 9U);
  EXPECT_EQ(difference(portrait(*from), portrait(*to)), "");
  EXPECT_THAT(runnable(*from), SizeIs(0));
  expect_sound(*to);
}

TEST_P(CopyTest, WhatChangesAgainAndAgainStays) {
  furnish(*from, clock, Size::small);
  FalseStore source(*from);
  source.before_mark([&] { say(*from, id_of("trimmed")); });

  const auto refused = move_sessions(source, *to);

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::conflict);
  EXPECT_THAT(runnable(*from), SizeIs(9));
  EXPECT_THAT(runnable(*to), SizeIs(0));
  EXPECT_EQ(must(to->upkeep().check()).entries, 0U);
}

TEST_P(CopyTest, AWorkerThatAcquiresASessionMeanwhileKeepsItHere) {
  furnish(*from, clock, Size::small);
  FalseStore source(*from);
  source.before_mark([&] { own(*from, id_of("heir")); });

  const auto refused = move_sessions(source, *to);

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::lease_held);
  EXPECT_THAT(runnable(*from), SizeIs(9));
  EXPECT_THAT(runnable(*to), SizeIs(0));
  EXPECT_EQ(must(to->upkeep().check()).entries, 0U);
}

TEST_P(CopyTest, AForkThatIsMadeMeanwhileIsNotLeftBehind) {
  furnish(*from, clock, Size::small);
  const std::vector<SessionId> family{id_of("main"), id_of("child"), id_of("fork"),
                                      id_of("fork of fork")};
  FalseStore source(*from);
  const auto make_fork = [&](const std::string& name, const std::string& parent) {
    return [this, name, parent] {
      (void)from->sessions().create(
          {.id = id_of(name),
           .origin = NewSession::Origin{id_of(parent), Point::head(), Lineage::fork}});
    };
  };
  source.before_mark(make_fork("late", "main"));
  const auto refused = move_sessions(source, *to, {.sessions = family});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::conflict);
  EXPECT_EQ(refused.error().subject, "late");
  EXPECT_THAT(runnable(*to), SizeIs(0));

  source.before_mark(make_fork("later", "late"));
  EXPECT_EQ(must(move_sessions(source, *to, {.sessions = family, .with_relatives = true})).sessions,
            6U);
  EXPECT_THAT(runnable(*to), SizeIs(6));
}

// Another mover must not delete what this one marks then, nor this one what the other released.
TEST_P(CopyTest, AMoverThatIsStoppedBeforeItsMarkLosesNothing) {
  furnish(*from, clock, Size::small);
  const std::string before = portrait(*from);
  FalseStore source(*from);
  bool is_first = true;
  source.before_mark([&] {
    if (!std::exchange(is_first, false)) return;
    EXPECT_FALSE(must(move_sessions(*from, *to, {}, stop_at(2))).is_complete);
  });
  must(move_sessions(source, *to));
  EXPECT_THAT(runnable(*from), SizeIs(0));
  EXPECT_EQ(difference(before, portrait(*to)), "");

  create(*from, "one more");
  int marks = 0;
  source.before_mark([&] {
    if (++marks == 1) must(move_sessions(*from, *to));
  });
  must(move_sessions(source, *to));
  EXPECT_THAT(runnable(*from), SizeIs(0));
  EXPECT_THAT(runnable(*to), SizeIs(10));
  expect_sound(*to);
}

TEST_P(CopyTest, WhatWasMarkedIsReleasedThoughItsRemainsAreGone) {
  furnish(*from, clock, Size::small);
  const std::string before = portrait(*from);
  FalseStore target(*to);
  target.fail_to_release();
  ASSERT_EQ(move_sessions(*from, target).error().code, ErrorCode::unavailable);
  EXPECT_THAT(runnable(*from), SizeIs(0));
  EXPECT_THAT(runnable(*to), SizeIs(0));
  EXPECT_EQ(abandon_move(*from, *to).error().code, ErrorCode::conflict);
  SessionQuery all;
  all.limit = 100;
  for (const SessionSummary& session : must(from->sessions().list(all)).sessions) {
    must(from->upkeep().remove(session.id));
  }

  EXPECT_EQ(must(move_sessions(*from, *to)).sessions, 9U);

  EXPECT_EQ(difference(before, portrait(*to)), "");
  expect_sound(*to);
}

// What an earlier attempt left is of a session that went to a third store since.
TEST_P(CopyTest, WhatWasMovedElsewhereSinceIsNotReleased) {
  furnish(*from, clock, Size::small);
  FalseStore target(*to);
  target.on_take([](Fact& fact) {
    if (std::holds_alternative<Entry>(fact)) throw std::runtime_error("killed");
  });
  EXPECT_THROW((void)move_sessions(*from, target), std::runtime_error);
  const auto third = must(open_store("memory:", {.clock = &clock, .ids = &ids}));
  must(move_sessions(*from, *third));

  EXPECT_EQ(must(move_sessions(*from, *to)).sessions, 0U);

  EXPECT_THAT(runnable(*to), SizeIs(0));
  EXPECT_THAT(runnable(*third), SizeIs(9));
  EXPECT_EQ(must(to->upkeep().check()).entries, 0U);
}

TEST_P(CopyTest, CallsOfASessionThatIsBeingRemovedAreReadAgain) {
  furnish(*from, clock, Size::small);
  const std::string before = portrait(*from);
  FalseStore source(*from);
  bool is_first = true;
  source.on_read([&](Fact& fact) {
    auto* call = std::get_if<CallFact>(&fact);
    if (call != nullptr && std::exchange(is_first, false)) call->call.session = {};
  });

  EXPECT_EQ(must(move_sessions(source, *to)).sessions, 9U);

  EXPECT_FALSE(is_first);
  EXPECT_EQ(difference(before, portrait(*to)), "");
}

TEST_P(CopyTest, CheckpointsThatArePrunedMeanwhileAreReadAgain) {
  const SessionId session = create(*from, "named twice");
  const Lease lease = own(*from, session);
  for (const char* batch : {"one", "two"}) {
    must(from->commit(lease, {.id = must(BatchId::parse(batch)), .checkpoint = NewCheckpoint{}}));
  }
  must(from->ownership().release(lease));
  FalseStore target(*to);
  bool is_first = true;
  target.on_take([&](Fact& fact) {
    if (!std::holds_alternative<CheckpointFact>(fact) || !std::exchange(is_first, false)) return;
    EXPECT_EQ(must(from->upkeep().prune(session, {.last = 1})).versions, 1U);
  });

  EXPECT_EQ(must(move_sessions(*from, target)).sessions, 1U);

  EXPECT_FALSE(is_first);
  EXPECT_THAT(must(to->log().checkpoints(session, {})), SizeIs(1));
}

TEST_P(CopyTest, WhatATargetLosesBeforeItsSyncIsNotMarked) {
  furnish(*from, clock, Size::small);
  FalseStore target(*to);
  target.on_sync([&] { must(to->transfer().discard({.from = from->info().incarnation})); });

  const auto lost = move_sessions(*from, target);

  ASSERT_FALSE(lost);
  EXPECT_THAT(runnable(*from), SizeIs(9));
  target.on_sync({});
  EXPECT_EQ(must(move_sessions(*from, target)).sessions, 9U);
}

TEST_P(CopyTest, ACopyThatWasDiscardedMeanwhileFails) {
  furnish(*from, clock, Size::small);
  FalseStore target(*to);
  target.on_take([&, left = 2](Fact& fact) mutable {
    if (!std::holds_alternative<ClaimFact>(fact) || --left > 0) return;
    must(to->transfer().discard({.from = from->info().incarnation}));
  });

  const auto copied = copy_session(*from, id_of("calls"), target, {.id = id_of("copy")});

  ASSERT_FALSE(copied);
  EXPECT_EQ(copied.error().code, ErrorCode::lease_lost);
  EXPECT_THAT(runnable(*to), SizeIs(0));
}

TEST_P(CopyTest, ACopyIsAPausedForkAndChangesNothingInTheSource) {
  furnish(*from, clock, Size::crowded);
  const std::string before = portrait(*from);
  const SessionSummary parent = must(from->sessions().read(id_of("fork")));
  const auto entries = must(from->log().read(id_of("fork"), {}));

  must(copy_session(*from, id_of("fork"), *to, {.id = id_of("copy")}));

  EXPECT_EQ(difference(before, portrait(*from)), "");
  EXPECT_EQ(runnable(*to), std::vector<std::string>{"copy"});
  const SessionSummary copy = must(to->sessions().read(id_of("copy")));
  EXPECT_EQ(copy.status, Status::paused);
  EXPECT_EQ(copy.wait_reason, "copied from session fork");
  EXPECT_EQ(copy.head, parent.head);
  EXPECT_EQ(copy.tally, parent.tally);
  EXPECT_EQ(copy.attention, 0);
  ASSERT_TRUE(copy.parent);
  EXPECT_EQ(*copy.parent, (Parent{id_of("fork"), parent.head, Lineage::fork}));
  const auto there = must(to->log().read(id_of("copy"), {}));
  ASSERT_EQ(there.size(), entries.size());
  for (std::size_t i = 0; i < entries.size(); ++i) {
    EXPECT_EQ(there[i].position, entries[i].position);
    EXPECT_EQ(there[i].body, entries[i].body);
  }
  EXPECT_THAT(must(to->ledger().list({})), SizeIs(0));
  say(*to, id_of("copy"));
  expect_sound(*to);
  EXPECT_EQ(copy_session(*from, id_of("fork"), *to, {.id = id_of("copy")}).error().code,
            ErrorCode::already_exists);
  EXPECT_TRUE(copy_session(*from, id_of("main"), *to, {.id = id_of("another")}));
  EXPECT_TRUE(copy_session(*from, id_of("trimmed"), *to, {.id = id_of("a third")}));
  EXPECT_TRUE(copy_session(*from, id_of("empty"), *to, {.id = id_of("an empty one")}));
  say(*to, id_of("an empty one"));
  expect_sound(*to);
  must(move_sessions(*from, *to));
  EXPECT_THAT(runnable(*to), SizeIs(614));
  expect_sound(*to);
}

TEST_P(CopyTest, KeysThatHaveAnOutcomeAreHeldInTheCopysStoreAndOthersClaimed) {
  furnish(*from, clock, Size::small);
  std::vector<Call> calls = must(from->ledger().list({.session = id_of("calls"), .limit = 1000}));
  must(copy_session(*from, id_of("calls"), *to, {.id = id_of("copy")}));

  int settled = 0;
  int unsettled = 0;
  for (const Call& call : calls) {
    if (!call.key) continue;
    const auto held = must(from->ledger().find_holder(*call.key));
    if (!held || held->session != call.session || held->position != call.position) continue;
    const auto there = must(to->ledger().find_holder(*call.key));
    const bool has_outcome =
        call.state == CallState::succeeded || call.state == CallState::abandoned;
    EXPECT_EQ(there.has_value(), has_outcome) << to_string(call.state);
    EXPECT_EQ(must(to->lookup().find_claims(*call.key)).size(), has_outcome ? 0U : 1U);
    ++(has_outcome ? settled : unsettled);
  }
  EXPECT_GT(settled, 0);
  EXPECT_GT(unsettled, 0);
}

TEST_P(CopyTest, BackAgainOnceTheRemainsAreRemoved) {
  furnish(*from, clock, Size::small);
  const std::string before = portrait(*from);
  must(move_sessions(*from, *to));
  const auto taken = move_sessions(*to, *from);
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code, ErrorCode::already_exists);
  SessionQuery all;
  all.limit = 100;
  for (const SessionSummary& session : must(from->sessions().list(all)).sessions) {
    must(from->upkeep().remove(session.id));
  }

  must(move_sessions(*to, *from));

  EXPECT_EQ(difference(before, portrait(*from)), "");
  EXPECT_THAT(runnable(*to), SizeIs(0));
  EXPECT_GT(own(*from, id_of("main")).fence, Fence{2} << 32U);
  expect_sound(*from);
}

TEST_P(CopyTest, AStoreIsNotCopiedIntoItself) {
  create(*from, "session");
  const auto refused = move_sessions(*from, *from);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
  EXPECT_THAT(runnable(*from), SizeIs(1));
}

TEST_P(CopyTest, TheSourceSaysWhereTheyWent) {
  create(*from, "one");
  must(move_sessions(*from, *to));
  EXPECT_EQ(must(from->sessions().read(id_of("one"))).moved_to, to->info().location);
  create(*from, "two");
  must(move_sessions(*from, *to, {.place = "the new machine"}));
  EXPECT_EQ(must(from->sessions().read(id_of("two"))).moved_to, "the new machine");
}

}  // namespace
}  // namespace perdure
