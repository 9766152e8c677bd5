// An id of a session that is used again, here or in another store: its calls are other operations
// than those that were made under it before.

#include <chrono>
#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "contract/backends.hpp"
#include "dispatch/turns_fixture.hpp"
#include "doubles/must.hpp"
#include "doubles/watched_store.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/store.hpp"
#include "runtime/api/records.hpp"
#include "runtime/api/session.hpp"
#include "runtime/api/state_details.hpp"

namespace perdure {
namespace {

class UsedAgain : public TurnsTest {
 protected:
  static constexpr const char* args = R"({"order":1})";

  static SessionId named(const std::string& name) { return SessionId::parse(name).value(); }

  Tool tool_that(Repeat repeat) {
    Tool made = tool(std::string(to_string(repeat)));
    made.repeat = repeat;
    return made;
  }

  void start() {
    tools = {tool_that(Repeat::each_call), tool_that(Repeat::once_per_session),
             tool_that(Repeat::once_per_store)};
    restart();
  }

  /// One turn in which every tool is called once.
  CallsReport play(Session& held) {
    must(held.record_request({}, user_says("go")));
    must(held.record_response(
        asks_for({{"each_call", args}, {"once_per_session", args}, {"once_per_store", args}})));
    CallsReport report = must(held.run_calls());
    must(held.record_request());
    must(held.record_response(assistant_says("done")));
    return report;
  }

  Session create(const std::string& name) { return must(runtime->create({.id = named(name)})); }

  /// Forks it at its beginning and plays there.
  Session play_fork(const SessionId& parent, const std::string& name, ForkSpec spec = {}) {
    spec.id = named(name);
    must(runtime->fork(parent, Point::position(1), spec));
    Session fork = must(runtime->open(named(name)));
    play(fork);
    return fork;
  }

  void remove(Session held) {
    const SessionId gone = held.id();
    must(held.close());
    must(store->upkeep().remove(gone));
  }

  bool has_new_key(const std::string& name) { return keys[name].at(0) != keys[name].at(1); }
};

TEST_P(UsedAgain, ByARootItsCallsAreNewOperations) {
  start();
  Session before = create("order-1");
  play(before);
  remove(std::move(before));

  Session again = create("order-1");
  const CallsReport report = play(again);

  EXPECT_EQ(report.run, 2U);
  EXPECT_EQ(report.replayed, 1U) << "what is done once in the store";
  EXPECT_TRUE(has_new_key("each_call"));
  EXPECT_TRUE(has_new_key("once_per_session"));
  EXPECT_EQ(runs["once_per_store"], 1);
}

TEST_P(UsedAgain, ByAForkOfTheSameParentEachOfItsCallsIsNew) {
  start();
  const Session parent = create("parent");
  remove(play_fork(parent.id(), "fork"));

  const Session again = play_fork(parent.id(), "fork");

  EXPECT_EQ(runs["each_call"], 2);
  EXPECT_TRUE(has_new_key("each_call"));
  EXPECT_EQ(runs["once_per_session"], 1) << "the tree is the same one";
}

TEST_P(UsedAgain, ByAForkOfADescendantEachOfItsCallsIsNew) {
  start();
  Session first = create("x");
  must(runtime->fork(first.id(), Point::position(1), {.id = named("y")}));
  play(first);
  remove(std::move(first));

  const Session again = play_fork(named("y"), "x");

  EXPECT_EQ(runs["each_call"], 2);
  EXPECT_TRUE(has_new_key("each_call"));
  EXPECT_EQ(runs["once_per_session"], 1) << "the tree is the same one";
}

TEST_P(UsedAgain, ByAChildEachOfItsCallsIsNew) {
  start();
  Session parent = create("parent");
  must(spawn(parent, {.id = named("child")}));
  Session child = must(runtime->open(named("child")));
  play(child);
  remove(std::move(child));
  Session other = create("other");
  must(spawn(other, {.id = named("child")}));

  Session again = must(runtime->open(named("child")));
  play(again);

  EXPECT_TRUE(has_new_key("each_call"));
  EXPECT_TRUE(has_new_key("once_per_session")) << "another tree";
}

TEST_P(UsedAgain, ItsChildrenAreOthersToo) {
  start();
  const auto child_now = [&] {
    Session held = create("parent");
    must(held.record_request({}, user_says("go")));
    must(held.record_response(asks_for({{"each_call", args}})));
    const SessionId child = child_of(held.id(), held.state().details->open_calls.begin()->second);
    must(spawn(held, {.id = child}));
    const Position call = held.state().details->open_calls.begin()->first;
    must(held.close());
    held = must(runtime->open(held.id()));  // The same call, the same child.
    EXPECT_EQ(child_of(held.id(), held.state().details->open_calls.at(call)), child);
    must(held.resolve(call, {.as = Decision::As::failed, .who = "a person"}));
    remove(std::move(held));
    return child;
  };

  EXPECT_NE(child_now(), child_now());
}

TEST_P(UsedAgain, InAnotherStoreTheVendorGetsOtherKeys) {
  start();
  Session here = create("order-1");
  play(here);
  const StorePlace elsewhere{GetParam()};
  const auto other = must(open_store(elsewhere.location(), {.clock = &clock, .ids = &ids}));
  const auto beside = must(Runtime::start(*other, {.host = "there",
                                                   .pid = 8,
                                                   .renews_itself = false,
                                                   .tools = must(Tools::of(tools)),
                                                   .clock = &clock,
                                                   .ids = &ids}));

  Session there = must(beside->create({.id = named("order-1")}));
  play(there);

  EXPECT_TRUE(has_new_key("each_call"));
  EXPECT_TRUE(has_new_key("once_per_session"));
}

TEST_P(UsedAgain, AForkSharesWhatIsDoneOnceInTheTreeUnlessItsEffectsAreFresh) {
  start();
  Session parent = create("parent");
  play(parent);

  const Session fork = play_fork(parent.id(), "fork");
  EXPECT_EQ(runs["once_per_session"], 1);
  EXPECT_EQ(fork.state().details->origin, parent.state().details->origin);

  const Session fresh = play_fork(parent.id(), "fresh", {.fresh_effects = true});
  EXPECT_EQ(runs["once_per_session"], 2);
  EXPECT_TRUE(has_new_key("once_per_session"));
  const Session heir = play_fork(fresh.id(), "heir");
  EXPECT_EQ(heir.state().details->origin->nonce, parent.state().details->origin->nonce)
      << "before the decision";
}

TEST_P(UsedAgain, AFreshForkOfTheSameNameIsFreshAgain) {
  start();
  Session parent = create("parent");
  play(parent);
  remove(play_fork(parent.id(), "fork", {.fresh_effects = true}));

  play_fork(parent.id(), "fork", {.fresh_effects = true});

  EXPECT_EQ(runs["once_per_session"], 3);
}

TEST_P(UsedAgain, ABranchKeepsWhatIsDoneOnce) {
  start();
  Session held = create("order-1");
  play(held);
  must(held.rewind(Point::position(1)));

  EXPECT_EQ(play(held).replayed, 2U);
  EXPECT_EQ(runs["once_per_session"], 1);
  EXPECT_TRUE(has_new_key("each_call"));
}

TEST_P(UsedAgain, WhoHasTheKeyIsToldTruly) {
  start();
  Session before = create("order-1");
  play(before);
  remove(std::move(before));

  Session again = create("order-1");
  play(again);

  const auto history = provider_messages(again.state());
  const auto& told = std::get<ToolResultBlock>(history.at(2).blocks.at(2)).content;
  EXPECT_NE(told.find("of a session that was deleted since"), std::string::npos) << told;
  const auto calls = must(store->ledger().list({.session = again.id()}));
  EXPECT_NE(calls.at(2).why.find("of a session that was deleted since"), std::string::npos)
      << calls.at(2).why;
}

// Whatever the store says of its calls.
TEST_P(UsedAgain, AResponseIsRecordedThoughNoCallOfItCanBegin) {
  start();
  WatchedStore watched(*store);
  const auto beside = must(Runtime::start(watched, {.host = "there",
                                                    .pid = 8,
                                                    .renews_itself = false,
                                                    .tools = must(Tools::of(tools)),
                                                    .clock = &clock,
                                                    .ids = &ids}));
  Session held = must(beside->create({.id = named("order-1")}));
  must(held.record_request({}, user_says("go")));
  watched.on_commit([&](const Lease& lease, const Batch& batch) -> Result<Receipt> {
    for (const CallChange& change : batch.calls) {
      if (!std::holds_alternative<Dispatch>(change)) continue;
      const Position call = std::get<Dispatch>(change).call;
      return fail(ErrorCode::conflict, "held by a call of that name before",
                  call_name(lease.session, call));
    }
    return store->commit(lease, batch);
  });

  ASSERT_TRUE(held.record_response(asks_for({{"each_call", args}, {"once_per_session", args}})));
  EXPECT_FALSE(held.run_calls());
  EXPECT_FALSE(held.state().details->request);
  watched.on_commit({});
  EXPECT_EQ(must(held.run_calls()).run, 2U);
}

INSTANTIATE_TEST_SUITE_P(Every, UsedAgain, testing::ValuesIn(every_backend()),
                         [](const auto& named) { return named.param.name; });

}  // namespace
}  // namespace perdure
