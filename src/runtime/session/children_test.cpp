// Children over every backend: one commit with their grant, one return, wherever a process dies.

#include <cstdint>
#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "contract/backends.hpp"
#include "doubles/counting_ids.hpp"
#include "doubles/fake_clock.hpp"
#include "doubles/must.hpp"
#include "doubles/temp_folder.hpp"
#include "doubles/watched_store.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/store.hpp"
#include "runtime/api/records.hpp"
#include "runtime/api/session.hpp"
#include "runtime/api/state_details.hpp"
#include "store/api/lookup.hpp"

namespace perdure {
namespace {

/// A process that dies at its Nth commit or post: that one is made or not, and nothing after it.
class MortalStore final : public WatchedStore, private Inbox {
 public:
  explicit MortalStore(Store& behind)
      : WatchedStore(behind, with_inbox(behind, *this)), store_(behind) {
    on_commit([this](const Lease& lease, const Batch& batch) -> Result<Receipt> {
      if (!lives()) return gone();
      auto receipt = store_.commit(lease, batch);
      if (is_dead_) return gone();
      return receipt;
    });
  }
  void die_at(int step, bool is_made) {
    steps_ = step;
    is_made_ = is_made;
    is_dead_ = false;
  }
  [[nodiscard]] bool is_dead() const { return is_dead_; }

  [[nodiscard]] Result<Created> create(const NewSession& session, const WorkerId& worker,
                                       const Batch& first) override {
    if (!lives()) return gone();
    auto created = store_.create(session, worker, first);
    if (is_dead_) return gone();
    return created;
  }
  [[nodiscard]] Result<void> post(const InboxMessage& message) override {
    if (!lives()) return gone();
    auto posted = store_.inbox().post(message);
    if (is_dead_) return gone();
    return posted;
  }
  [[nodiscard]] Result<std::vector<InboxMessage>> list(const SessionId& session,
                                                       std::size_t limit) override {
    return store_.inbox().list(session, limit);
  }

 private:
  static std::unexpected<Error> gone() { return fail(ErrorCode::unavailable, "dead"); }
  // Whether this step is made.
  bool lives() {
    if (is_dead_) return false;
    if (steps_ > 0) {
      --steps_;
      is_dead_ = steps_ == 0;
    }
    return !is_dead_ || is_made_;
  }

  Store& store_;
  int steps_ = 0;
  bool is_made_ = false;
  bool is_dead_ = false;
};

SessionId named(const std::string& text) { return must(SessionId::parse(text)); }

std::string refused_about(const auto& result) {
  return result ? "nothing: it was not refused" : result.error().subject;
}

class ChildrenTest : public testing::TestWithParam<Backend> {
 protected:
  void start_on(Store& with) {
    runtime.reset();
    runtime = must(Runtime::start(
        with, {.host = "here", .pid = 7, .renews_itself = false, .clock = &clock, .ids = &ids}));
  }
  void restart() {
    store.die_at(0, false);
    start_on(store);
  }
  Session parent(std::int64_t micros = 1000) {
    return must(runtime->create({.id = named("p"), .budget_micros = micros}));
  }
  /// One request and its response.
  static void spend(Session& session, std::int64_t reserve, std::int64_t cost) {
    must(session.record_request({.reserve_micros = reserve}, user_says("go")));
    must(session.record_response({.blocks = {TextBlock{.text = "done"}}}, {.cost_micros = cost}));
  }
  std::size_t mails(const char* const session) {
    return must(behind->inbox().list(named(session), 100)).size();
  }

  StorePlace home{GetParam(), memory_folder()};
  FakeClock clock;
  CountingIds ids;
  std::unique_ptr<Store> behind = must(open_store(
      home.location(), {.durability = Durability::process, .clock = &clock, .ids = &ids}));
  MortalStore store{*behind};
  std::unique_ptr<Runtime> runtime = must(Runtime::start(
      store, {.host = "here", .pid = 7, .renews_itself = false, .clock = &clock, .ids = &ids}));
};

TEST_P(ChildrenTest, BeginWithTheirGrantSetupAndScope) {
  Session p = parent();
  const SessionId id = must(spawn(p, {.id = named("c"),
                                      .annotation = {.title = "Helper"},
                                      .setup = perdure::Setup{.model = "m"},
                                      .grant_micros = 300,
                                      .agent_digest = "d"}));
  EXPECT_EQ(p.state().budget.available(), 700);
  EXPECT_EQ(p.state().details->children.at("c").limit_micros, 300);
  EXPECT_EQ(must(store.sessions().read(id)).title, "Helper");

  const Session c = must(runtime->open(id));

  EXPECT_EQ(c.state().budget.available(), 300);
  EXPECT_EQ(c.state().setup->model, "m");
  EXPECT_EQ(c.state().details->origin->root, "p");
  EXPECT_EQ(c.state().details->origin->agent_digest, "d");
}

TEST_P(ChildrenTest, OfChildrenShareTheScopeOfEffects) {
  Session p = parent();
  must(spawn(p, {.id = named("c"), .grant_micros = 300}));
  Session c = must(runtime->open(named("c")));
  must(spawn(c, {.id = named("g"), .grant_micros = 100}));
  EXPECT_EQ(must(runtime->open(named("g"))).state().details->origin->root, "p");
  EXPECT_EQ(c.state().budget.available(), 200);
}

TEST_P(ChildrenTest, BeyondTheBudgetAreNotMade) {
  Session p = parent();
  must(spawn(p, {.id = named("c"), .grant_micros = 700}));
  const auto refused = spawn(p, {.id = named("d"), .grant_micros = 301});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().subject, "budget");
  EXPECT_FALSE(store.sessions().read(named("d")));
  EXPECT_EQ(p.state().budget.available(), 300);
}

TEST_P(ChildrenTest, AndTheirGrantAreOneCommit) {
  for (const bool is_made : {false, true}) {
    restart();
    const SessionId id = named(is_made ? "made" : "not");
    Session p = must(runtime->create({.id = id, .budget_micros = 1000}));
    const SessionId child = named("c of " + id.text());
    store.die_at(1, is_made);
    EXPECT_FALSE(spawn(p, {.id = child, .grant_micros = 300}));
    {
      const Session gone = std::move(p);
    }
    restart();
    const Session again = must(runtime->open(id));
    EXPECT_EQ(again.state().budget.available(), is_made ? 700 : 1000);
    EXPECT_EQ(store.sessions().read(child).has_value(), is_made);
    EXPECT_EQ(again.state().details->children.size(), is_made ? 1U : 0U);
  }
}

TEST_P(ChildrenTest, AskedForTwiceAreMadeOnce) {
  Session p = parent();
  const SessionId id = child_of(p.id(), {.call = 7});
  EXPECT_EQ(must(spawn(p, {.id = id, .grant_micros = 300})), id);
  EXPECT_EQ(must(spawn(p, {.id = id, .grant_micros = 300})), id);
  EXPECT_EQ(p.state().budget.available(), 700);
  const auto taken = spawn(p, {.id = named("p"), .grant_micros = 1});
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code, ErrorCode::already_exists);
}

TEST_P(ChildrenTest, WithoutAGrantSpendNothing) {
  Session p = parent();
  must(spawn(p, {.id = named("c")}));
  Session c = must(runtime->open(named("c")));
  EXPECT_EQ(refused_about(c.record_request({.reserve_micros = 1})), "budget");
}

TEST_P(ChildrenTest, WhoseParentDiedRightAfterItSpawnedThemAreResumed) {
  Session p = parent();
  store.die_at(1, true);
  EXPECT_FALSE(
      spawn(p, {.id = named("c"), .setup = perdure::Setup{.model = "m"}, .grant_micros = 300}));
  store.die_at(0, false);
  const auto other = must(Runtime::start(
      store, {.host = "here", .pid = 8, .renews_itself = false, .clock = &clock, .ids = &ids}));

  Resumed c = must(other->resume(named("c"), {.input = user_says("go")}));

  EXPECT_EQ(c.session.state().details->origin->root, "p");
  EXPECT_EQ(c.session.state().setup->model, "m");
  spend(c.session, 300, 200);
}

TEST_P(ChildrenTest, WhoseRecordIsGoneSpendNothing) {
  const Session p = parent();
  must(store.sessions().create(
      {.id = named("c"),
       .origin = NewSession::Origin{.session = p.id(), .lineage = Lineage::child}}));
  Session c = must(runtime->open(named("c")));
  EXPECT_EQ(c.state().details->origin->root, "p");
  EXPECT_EQ(refused_about(c.record_request({.reserve_micros = 1})), "budget");
}

TEST_P(ChildrenTest, OfASessionWithoutALimitHaveNone) {
  Session p = must(runtime->create({.id = named("p")}));
  must(spawn(p, {.id = named("c")}));
  Session c = must(runtime->open(named("c")));
  spend(c, 50, 40);
  must(c.finish("done"));
  must(p.take_inbox());
  EXPECT_EQ(p.state().budget.totals.spent, 40);
}

TEST_P(ChildrenTest, GiveBackWhatTheyDidNotSpendOnce) {
  Session p = parent();
  must(spawn(p, {.id = named("c"), .grant_micros = 300}));
  Session c = must(runtime->open(named("c")));
  spend(c, 100, 80);

  must(c.finish("the answer"));
  must(c.finish("the answer"));
  EXPECT_EQ(mails("p"), 1U);
  must(store.inbox().post({.session = p.id(),
                           .id = must(MessageId::parse("again")),
                           .kind = "child_result",
                           .body = Body::from_text(to_json(*c.state().details->end))}));
  EXPECT_EQ(must(p.take_inbox()), 2U);

  EXPECT_EQ(p.state().budget.available(), 920);
  EXPECT_EQ(p.state().budget.totals.spent, 80);
  EXPECT_TRUE(p.state().budget.grants.empty());
  EXPECT_EQ(p.state().details->children.at("c").end->result, "the answer");
  EXPECT_EQ(c.status(), Status::completed);
}

TEST_P(ChildrenTest, WhatNobodyKnowsOfTheirsIsNotKnownOfTheParentsEither) {
  Session p = parent();
  Session c = must(runtime->open(must(spawn(p, {.id = named("c"), .grant_micros = 300}))));
  spend(c, 100, 60);
  must(c.record_request({.reserve_micros = 100}, user_says("and?")));
  must(c.abandon_request("the connection broke", true));
  must(c.finish("done"));
  must(p.set_budget(10, "ann", "too much"));

  must(p.take_inbox());

  EXPECT_EQ(p.state().budget.totals.spent, 60);
  EXPECT_EQ(p.state().budget.totals.unconfirmed, 100);
  EXPECT_EQ(p.state().budget.totals.recorded(), 160);
}

TEST_P(ChildrenTest, OfOneInboxAreAddedUp) {
  Session p = parent();
  for (const char* const id : {"c", "d", "e"}) {
    must(spawn(p, {.id = named(id), .grant_micros = 300}));
    Session child = must(runtime->open(named(id)));
    spend(child, 100, 10);
    must(child.finish("done"));
  }
  must(p.take_inbox());
  EXPECT_EQ(p.state().budget.available(), 970);
  EXPECT_TRUE(p.state().details->skipped.empty());
}

TEST_P(ChildrenTest, ThatSpentTooMuchAreRecordedWithAllOfIt) {
  Session p = parent();
  must(spawn(p, {.id = named("c"), .grant_micros = 100}));
  Session c = must(runtime->open(named("c")));
  spend(c, 100, 130);
  must(c.finish("done"));
  must(p.take_inbox());
  EXPECT_EQ(p.state().budget.totals.spent, 130);
  EXPECT_EQ(p.state().budget.available(), 870);
}

TEST_P(ChildrenTest, ThatDiedKeepTheirGrant) {
  Session p = parent();
  must(spawn(p, {.id = named("c"), .grant_micros = 300}));
  {
    Session c = must(runtime->open(named("c")));
    must(c.record_request({.reserve_micros = 100}, user_says("go")));
  }
  must(p.take_inbox());
  EXPECT_EQ(p.state().budget.available(), 700);
}

TEST_P(ChildrenTest, ThatCouldNotTellAreAskedWhenTheParentResumes) {
  {
    Session p = parent();
    must(spawn(p, {.id = named("c"), .grant_micros = 300}));
    Session c = must(runtime->open(named("c")));
    store.die_at(2, false);
    EXPECT_FALSE(c.finish("done"));
  }
  restart();
  EXPECT_EQ(mails("p"), 0U);
  Resumed p = must(runtime->resume(named("p")));
  EXPECT_EQ(p.session.state().budget.available(), 1000);
  must(runtime->resume(named("c")));
  EXPECT_EQ(must(p.session.take_inbox()), 1U);
  EXPECT_EQ(p.session.state().budget.available(), 1000);
  EXPECT_TRUE(p.session.state().details->skipped.empty());
}

TEST_P(ChildrenTest, ThatHaveEndedSpendNothingMore) {
  Session p = parent();
  must(spawn(p, {.id = named("c"), .grant_micros = 300}));
  Session c = must(runtime->open(named("c")));
  spend(c, 100, 80);
  must(c.finish("done"));
  must(c.reopen("ann", "once more"));
  EXPECT_EQ(refused_about(c.record_request({.reserve_micros = 1}, user_says("go"))), "budget");
  // Nobody reserved it, and it was paid all the same.
  spend(c, 0, 5);
  must(c.finish("done again"));
  must(p.take_inbox());
  EXPECT_EQ(p.state().budget.totals.spent, 85);
  EXPECT_EQ(p.state().details->children.at("c").end->result, "done again");
}

TEST_P(ChildrenTest, ThatAreCancelledOrFailGiveBackToo) {
  Session p = parent();
  must(spawn(p, {.id = named("c"), .grant_micros = 300}));
  must(spawn(p, {.id = named("d"), .grant_micros = 300}));
  Session c = must(runtime->open(named("c")));
  must(Mail(store, c.id()).cancel(must(MessageId::parse("m")), "ann", "not needed"));
  must(c.take_inbox());
  Session d = must(runtime->open(named("d")));
  must(d.set_status({.status = Status::failed, .wait_reason = "broken"}));
  must(p.take_inbox());
  EXPECT_EQ(p.state().budget.available(), 1000);
  EXPECT_EQ(p.state().details->children.at("c").end->status, Status::cancelled);
  EXPECT_EQ(p.state().details->children.at("d").end->result, "broken");
}

TEST_P(ChildrenTest, DoNotEndWhileACallIsOpenNorInAStatusThatIsNoEnd) {
  const Tool pay{.name = "pay",
                 .side_effects = SideEffects{.mutate = true},
                 .run = [](const CallContext&) { return ToolOutcome(Succeeded{}); }};
  const auto asking =
      must(Runtime::start(store, {.host = "here",
                                  .pid = 8,
                                  .renews_itself = false,
                                  .tools = must(Tools::of({pay})),
                                  .policy = {.permit =
                                                 [](const State&, const ProposedCall&) {
                                                   return PermitDecision::ask("it is a rule");
                                                 }},
                                  .clock = &clock,
                                  .ids = &ids}));
  Session p = must(asking->create());
  const auto paused = p.finish("x", Status::paused);
  ASSERT_FALSE(paused);
  EXPECT_EQ(paused.error().code, ErrorCode::invalid_argument);
  must(p.record_request({}, user_says("go")));
  must(p.record_response({.blocks = {ToolCallBlock{.id = "c1", .name = "pay", .args = "{}"}}}));
  const auto open = p.finish("x");
  ASSERT_FALSE(open);
  EXPECT_EQ(open.error().code, ErrorCode::conflict);
}

/// A tree of three that is driven to its end, by as many processes as it takes.
class ChildrenSweep : public ChildrenTest {
 protected:
  // Each does what its log lacks. False: the process has died.
  bool pay(Session& session, std::int64_t reserve, std::int64_t cost) {
    if (!session.state().transcript.empty() &&
        session.state().transcript.back().message.role == Role::assistant) {
      return true;
    }
    const auto asked = session.record_request({.reserve_micros = reserve}, user_says("go"));
    if (!asked && asked.error().subject == "budget") return true;
    if (!asked) return false;
    paid += cost;
    return session.record_response({.blocks = {TextBlock{.text = "done"}}}, {.cost_micros = cost})
        .has_value();
  }
  bool run_grandchild() {
    auto g = runtime->resume(named("g"));
    return g && pay(g->session, 60, 50) && g->session.finish("g done");
  }
  bool run_child() {
    auto c = runtime->resume(named("c"));
    if (!c) return false;
    Session& session = c->session;
    if (session.state().details->end) return session.finish("").has_value();
    if (!spawn(session, {.id = named("g"), .grant_micros = 150}) || !run_grandchild()) return false;
    return session.take_inbox() && pay(session, 100, 70) && session.finish("c done");
  }
  bool run_all() {
    auto p = runtime->resume(named("p"));
    if (!p || !spawn(p->session, {.id = named("c"), .grant_micros = 500}) || !run_child()) {
      return false;
    }
    return p->session.take_inbox() && pay(p->session, 200, 150);
  }
  BudgetTotals totals() { return must(runtime->open(named("p"))).state().budget.totals; }

  // Whether the first process died; a second one brings it to its end.
  bool die_and_go_on(int step, bool is_made) {
    SCOPED_TRACE(std::to_string(step) + (is_made ? ", made" : ", not made"));
    const StorePlace own(GetParam(), memory_folder());
    const auto fresh = must(open_store(
        own.location(), {.durability = Durability::process, .clock = &clock, .ids = &ids}));
    MortalStore mortal(*fresh);
    start_on(mortal);
    {
      const Session p = parent(800);
    }
    paid = 0;
    mortal.die_at(step, is_made);
    const bool is_through = run_all();
    const bool has_died = mortal.is_dead();
    EXPECT_NE(is_through, has_died);
    mortal.die_at(0, false);
    start_on(mortal);
    EXPECT_GE(totals().recorded(), paid);
    EXPECT_TRUE(run_all());
    const BudgetTotals end = totals();
    EXPECT_LE(paid, 800);
    EXPECT_LE(end.recorded(), 800);
    EXPECT_GE(end.recorded(), paid);
    EXPECT_EQ(end.granted, 0);
    EXPECT_EQ(end.reserved, 0);
    EXPECT_TRUE(has_died || end.spent == 270) << end.spent;
    runtime.reset();
    return has_died;
  }

  std::int64_t paid = 0;
};

TEST_P(ChildrenSweep, NoDeathLosesOrDoublesMoney) {
  int deaths = 0;
  for (const bool is_made : {false, true}) {
    for (int step = 1; die_and_go_on(step, is_made); ++step) ++deaths;
  }
  EXPECT_GT(deaths, 30);
}

INSTANTIATE_TEST_SUITE_P(EveryBackend, ChildrenTest, testing::ValuesIn(every_backend()),
                         [](const auto& backend) { return backend.param.name; });
INSTANTIATE_TEST_SUITE_P(EveryBackend, ChildrenSweep, testing::ValuesIn(every_backend()),
                         [](const auto& backend) { return backend.param.name; });

}  // namespace
}  // namespace perdure
