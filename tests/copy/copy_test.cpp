// copy.hpp made executable: from every backend into every backend, and between a file and a server in
// each of its forms.

#include "perdure/store/copy.hpp"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <memory>
#include <string>

#include "contract/backends.hpp"
#include "contract/describe.hpp"
#include "copy/household.hpp"
#include "copy/two_stores.hpp"
#include "doubles/difference.hpp"
#include "doubles/must.hpp"

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

  const CopyReport report = must(copy_store(*from, *to));

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
  must(copy_store(*from, *to));

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
  const auto printer = must(to->ownership().acquire_resource("printer", worker));
  EXPECT_GT(printer.fence, Fence{1} << 32U);
  must(to->upkeep().remove(id_of("fork of fork")));
  must(to->upkeep().remove(id_of("heir")));
  must(to->upkeep().prune(id_of("trimmed"), {.last = 1}));
  expect_sound(*to);
}

TEST_P(CopyTest, RepeatingItChangesNothing) {
  furnish(*from, clock, Size::small);
  must(copy_store(*from, *to));
  const std::string there = portrait(*to);

  const CopyReport again = must(copy_store(*from, *to));

  EXPECT_EQ(again.sessions, 0U);
  EXPECT_EQ(portrait(*to), there);
  EXPECT_TRUE(copy_store(*from, *to, {.sessions = {id_of("empty")}}));
}

TEST_P(CopyTest, ATargetMayHoldOthersAlready) {
  create(*to, "native");
  say(*to, id_of("native"));
  must(to->ownership().acquire_resource("printer", worker));
  furnish(*from, clock, Size::small);
  const std::string before = portrait(*from);
  const auto native = describe(to->log().read(id_of("native"), {}));

  must(copy_store(*from, *to));

  EXPECT_EQ(describe(to->log().read(id_of("native"), {})), native);
  say(*to, id_of("native"));
  must(to->upkeep().remove(id_of("native")));
  EXPECT_EQ(difference(before, portrait(*to)), "");
  expect_sound(*to);
}

TEST_P(CopyTest, OneFamilyGoesAndOthersStay) {
  furnish(*from, clock, Size::small);

  const auto split = copy_store(*from, *to, {.sessions = {id_of("main")}});
  ASSERT_FALSE(split);
  EXPECT_EQ(split.error().code, ErrorCode::conflict);
  EXPECT_EQ(split.error().subject, "child");
  EXPECT_THAT(runnable(*from), SizeIs(9));

  const CopyReport report = must(copy_store(
      *from, *to,
      {.sessions = {id_of("main"), id_of("child"), id_of("fork"), id_of("fork of fork")}}));
  EXPECT_EQ(report.sessions, 4U);
  EXPECT_THAT(runnable(*from), SizeIs(5));
  EXPECT_THAT(runnable(*to), SizeIs(4));
  say(*from, id_of("trimmed"));
  say(*to, id_of("fork"));
  EXPECT_EQ(must(copy_store(*from, *to)).sessions, 5U);
  EXPECT_THAT(runnable(*to), SizeIs(9));
  expect_sound(*to);
}

TEST_P(CopyTest, APlanRefusesWhatAMoveWouldAndChangesNothing) {
  furnish(*from, clock, Size::small);
  const std::string before = portrait(*from);
  const CopyOptions main{.sessions = {id_of("main")}};

  const auto planned = plan_copy(*from, main);
  const auto moved = copy_store(*from, *to, main);

  ASSERT_FALSE(planned);
  ASSERT_FALSE(moved);
  EXPECT_EQ(planned.error().code, moved.error().code);
  EXPECT_EQ(planned.error().message, moved.error().message);
  EXPECT_EQ(plan_copy(*from, {.sessions = {id_of("nobody")}}).error().code, ErrorCode::not_found);
  EXPECT_EQ(must(plan_copy(*from)).size(), must(from->sessions().list({})).sessions.size());
  const Lease lease = own(*from, id_of("heir"));
  EXPECT_EQ(plan_copy(*from).error().code, ErrorCode::lease_held);
  must(from->ownership().release(lease));
  EXPECT_EQ(difference(before, portrait(*from)), "");
}

TEST_P(CopyTest, RelativesGoAlongIfThatIsAskedFor) {
  furnish(*from, clock, Size::small);
  const CopyOptions family{
      .sessions = {id_of("main")}, .with_relatives = true, .place = "elsewhere"};

  const auto planned = must(plan_copy(*from, family));
  const CopyReport report = must(copy_store(*from, *to, family));

  EXPECT_GT(planned.size(), 1U);
  EXPECT_EQ(report.sessions, planned.size());
  for (const SessionId& session : planned) EXPECT_TRUE(to->sessions().read(session));
  EXPECT_TRUE(must(plan_copy(*from, family)).empty()) << "they are there";
  expect_sound(*to);
}

TEST_P(CopyTest, AnIdThatIsInUseLeavesEverythingAsItWas) {
  furnish(*from, clock, Size::small);
  const std::string before = portrait(*from);
  create(*to, "trimmed");

  const auto refused = copy_store(*from, *to);

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::already_exists);
  EXPECT_EQ(refused.error().subject, "trimmed");
  EXPECT_EQ(portrait(*from), before);
  EXPECT_THAT(runnable(*from), SizeIs(9));
  EXPECT_THAT(runnable(*to), SizeIs(1));
  say(*from, id_of("main"));
  expect_sound(*to);
  must(to->upkeep().remove(id_of("trimmed")));
  EXPECT_TRUE(copy_store(*from, *to));
}

TEST_P(CopyTest, ALiveOwnerIsLeftAlone) {
  furnish(*from, clock, Size::small);
  own(*from, id_of("heir"));

  const auto refused = copy_store(*from, *to);

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::lease_held);
  EXPECT_EQ(refused.error().subject, "worker");
  say(*from, id_of("main"));
  must(from->ownership().retire(worker));
  EXPECT_TRUE(copy_store(*from, *to));
}

TEST_P(CopyTest, StoppedItGoesOnWhereItWas) {
  furnish(*from, clock, Size::large);
  const std::string before = portrait(*from);
  int stops = 0;
  for (; stops < 100; ++stops) {
    const auto report = must(copy_store(*from, *to, {}, stop_at(3)));
    if (report.is_complete) break;
    EXPECT_THAT(runnable(*from), SizeIs(0));
    EXPECT_THAT(runnable(*to), SizeIs(0));
    if (stops > 12) {
      must(copy_store(*from, *to));
      break;
    }
  }
  EXPECT_GT(stops, 4);
  EXPECT_EQ(difference(before, portrait(*to)), "");
  EXPECT_THAT(runnable(*to), SizeIs(10));
  expect_sound(*to);
}

TEST_P(CopyTest, AbandonedItIsAsBefore) {
  furnish(*from, clock, Size::large);
  const std::string before = portrait(*from);
  for (const int step : {1, 2, 4, 7, 12, 25}) {
    ASSERT_FALSE(must(copy_store(*from, *to, {}, stop_at(step))).is_complete) << step;
    must(abandon_copy(*from, *to));
    EXPECT_THAT(runnable(*from), SizeIs(10));
    EXPECT_THAT(must(to->sessions().list({})).sessions, SizeIs(0));
    expect_sound(*to);
  }
  must(abandon_copy(*from, *to));
  EXPECT_EQ(difference(before, portrait(*from)), "");
  say(*from, id_of("heir"));
  must(copy_store(*from, *to));
  EXPECT_EQ(difference(portrait(*from), portrait(*to)), "");
}

TEST_P(CopyTest, ItTellsHowFarItHasCome) {
  furnish(*from, clock, Size::large);
  std::vector<Step> steps;

  must(copy_store(*from, *to, {}, [&](const Step& step) {
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

  must(copy_store(*from, *to, {.sessions = leaving}, [&](const Step& step) {
    if (step.done == step.total) return true;  // All is done.
    ++steps;
    say(*from, id_of("trimmed"));
    say(*to, id_of("native"));
    create(*to, "new " + std::to_string(steps));
    create(*from, "new " + std::to_string(steps));
    const auto held = from->ownership().acquire(id_of("main"), worker);
    EXPECT_EQ(held.error().code, ErrorCode::conflict);
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

  const auto outdated = copy_store(*from, *to, {}, [&](const Step& step) {
    if (is_first && step.done > 700) {
      is_first = false;
      must(copy_store(*from, *to));
    }
    return true;
  });

  ASSERT_FALSE(outdated);
  EXPECT_EQ(outdated.error().code, ErrorCode::lease_lost);
  EXPECT_EQ(difference(before, portrait(*to)), "");
  EXPECT_THAT(runnable(*from), SizeIs(0));
}

TEST_P(CopyTest, BackAgainOnceTheRemainsAreRemoved) {
  furnish(*from, clock, Size::small);
  const std::string before = portrait(*from);
  must(copy_store(*from, *to));
  const auto taken = copy_store(*to, *from);
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code, ErrorCode::already_exists);
  SessionQuery all;
  all.limit = 100;
  for (const SessionSummary& session : must(from->sessions().list(all)).sessions) {
    must(from->upkeep().remove(session.id));
  }

  must(copy_store(*to, *from));

  EXPECT_EQ(difference(before, portrait(*from)), "");
  EXPECT_THAT(runnable(*to), SizeIs(0));
  EXPECT_GT(own(*from, id_of("main")).fence, Fence{2} << 32U);
  expect_sound(*from);
}

TEST_P(CopyTest, AStoreIsNotCopiedIntoItself) {
  create(*from, "session");
  const auto refused = copy_store(*from, *from);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
  EXPECT_THAT(runnable(*from), SizeIs(1));
}

TEST_P(CopyTest, TheSourceSaysWhereTheyWent) {
  create(*from, "one");
  must(copy_store(*from, *to));
  EXPECT_EQ(must(from->sessions().read(id_of("one"))).moved_to, to->info().location);
  create(*from, "two");
  must(copy_store(*from, *to, {.place = "the new machine"}));
  EXPECT_EQ(must(from->sessions().read(id_of("two"))).moved_to, "the new machine");
}

}  // namespace
}  // namespace perdure
