// Sessions over every backend: what is appended is there after a resume, who holds what, what
// was, and what is refused.

#include "runtime/api/session.hpp"

#include <chrono>
#include <cstdint>
#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "contract/backends.hpp"
#include "doubles/counting_ids.hpp"
#include "doubles/fake_clock.hpp"
#include "doubles/must.hpp"
#include "doubles/watched_store.hpp"
#include "perdure/core/error.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "runtime/api/read.hpp"
#include "runtime/api/records.hpp"
#include "runtime/api/state_details.hpp"

namespace perdure {
namespace {

class SessionTest : public testing::TestWithParam<Backend> {
 protected:
  std::unique_ptr<Runtime> start(std::int64_t pid = 7) {
    return Runtime::start(
               *store,
               {.host = "here", .pid = pid, .renews_itself = false, .clock = &clock, .ids = &ids})
        .value();
  }

  StorePlace home{GetParam()};
  FakeClock clock;
  CountingIds ids;
  std::unique_ptr<Store> store =
      open_store(home.location(), {.clock = &clock, .ids = &ids}).value();
  std::unique_ptr<Runtime> runtime = start();
};

TEST_P(SessionTest, IsTheSameAfterAResume) {
  std::optional<Session> session = runtime->create({.setup = perdure::Setup{.model = "m"}}).value();
  ASSERT_TRUE(session->append(user_says("hello")));
  ASSERT_TRUE(session->append("notes", Body::from_text("[1]")));
  ASSERT_TRUE(session->set("mood", Body::from_text("\"good\"")));
  ASSERT_TRUE(session->count("retries"));
  const State before = session->state();
  const SessionId id = session->id();
  session.reset();

  const auto again = start()->open(id);

  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->state(), before);
  EXPECT_EQ(before.transcript.size(), 1U);
  EXPECT_EQ(before.counters.at("retries"), 1);
}

TEST_P(SessionTest, AValueAndHowItStandsAreOneCommit) {
  auto session = runtime->create().value();
  const Position head = session.state().head;
  const StatusChange waits{.status = Status::waiting, .wait_reason = "for spring"};
  ASSERT_TRUE(session.set("mood", Body::from_text("\"good\""), waits));
  EXPECT_EQ(session.state().head, head + 2) << "the value, and who changed the status";
  const auto row = store->sessions().read(session.id()).value();
  EXPECT_EQ(row.status, Status::waiting);
  EXPECT_EQ(row.wait_reason, "for spring");
  const auto ended = session.set("mood", Body::from_text("1"), StatusChange{Status::completed});
  EXPECT_EQ(ended.error().code, ErrorCode::invalid_argument);
  ASSERT_TRUE(session.set_status({.status = Status::completed}));
  EXPECT_EQ(session.set("mood", Body::from_text("1"), waits).error().code, ErrorCode::conflict);
  EXPECT_TRUE(session.set("mood", Body::from_text("1")));
}

TEST_P(SessionTest, GoesOnUnderAnotherAgentAndItsOriginIsReadWithoutALease) {
  auto session = runtime->create({.setup = perdure::Setup{.model = "m"}, .agent_digest = "old"});
  ASSERT_TRUE(session);
  const SessionId id = session->id();
  EXPECT_EQ(origin_of(*store, id).value()->agent_digest, "old");
  EXPECT_TRUE(is_of(*store, id, "old").value());
  ASSERT_TRUE(set_agent(*session, {.agent_digest = "new", .parts = {"model"}, .who = "ann"},
                        {.model = "n"}));
  EXPECT_EQ(session->state().setup->model, "n");
  const Origin origin{
      .root = id.text(), .nonce = session->state().details->origin->nonce, .agent_digest = "new"};
  EXPECT_FALSE(origin.nonce.empty());
  EXPECT_EQ(session->state().details->origin, origin);
  EXPECT_EQ(origin_of(*store, id).value(), origin);
  EXPECT_TRUE(is_of(*store, id, "new").value());
  EXPECT_FALSE(is_of(*store, id, "old").value());
  const auto told = store->log().read(id, {.channel = "origin"}).value();
  ASSERT_EQ(told.size(), 3U);
  EXPECT_EQ(agent_change_from_json(told[1].body.bytes())->who, "ann");
}

// More than is read ahead.
class LongLineTest : public SessionTest {
 protected:
  static constexpr Position line_entries = 6'000;

  void SetUp() override {
    const auto worker = mint<WorkerTag>(ids);
    ASSERT_TRUE(store->sessions().create({.id = id}));
    ASSERT_TRUE(store->ownership().enroll({.id = worker, .host = "here", .pid = 7}));
    Batch batch{.id = mint<BatchTag>(ids)};
    batch.entries.assign(line_entries,
                         {.channel = "notes", .kind = "note", .body = Body::from_text("1")});
    ASSERT_TRUE(store->commit(store->ownership().acquire(id, worker).value(), batch));
  }

  const SessionId id = mint<SessionTag>(ids);
};

TEST_P(LongLineTest, IsReadOnceAndInOrder) {
  Position last = 0;
  const auto read = read_line(*store, id, Point::head(), [&](const Entry& entry) -> Result<void> {
    EXPECT_EQ(entry.position, ++last);
    return {};
  });
  EXPECT_TRUE(read);
  EXPECT_EQ(last, line_entries);
}

TEST_P(LongLineTest, IsReadNoFurtherThanItIsTaken) {
  for (const Position enough : {Position{1}, Position{1'000}, line_entries}) {
    Position last = 0;
    const auto read = read_line(*store, id, Point::head(), [&](const Entry& entry) -> Result<void> {
      last = entry.position;
      if (last == enough) return fail(ErrorCode::conflict, "enough");
      return {};
    });
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().message, "enough");
    EXPECT_EQ(last, enough);
  }
}

TEST_P(SessionTest, APlanStaysInForceWhereALaterOneCannotBeRead) {
  const auto id = mint<SessionTag>(ids);
  const auto worker = mint<WorkerTag>(ids);
  ASSERT_TRUE(store->sessions().create({.id = id}));
  ASSERT_TRUE(store->ownership().enroll({.id = worker, .host = "here", .pid = 7}));
  Batch batch{.id = mint<BatchTag>(ids)};
  for (const std::string& plan :
       {to_json(Plan{.objective = "old"}), to_json(Plan{.objective = "in force"}),
        std::string(R"({"v":2})")}) {
    batch.entries.push_back(
        {.channel = "plan", .kind = "plan", .fold = Fold::replace, .body = Body::from_text(plan)});
  }
  ASSERT_TRUE(store->commit(store->ownership().acquire(id, worker).value(), batch));
  const State state = read_state(*store, id, Point::head()).value();
  ASSERT_TRUE(state.plan);
  EXPECT_EQ(state.plan->objective, "in force");
  EXPECT_EQ(state.details->skipped, (std::vector{Skipped{3, "plan", SkipReason::newer}}));
}

TEST_P(SessionTest, RecoveredARequestWithoutAResponseCountsAsSpent) {
  std::optional<Session> session = runtime->create().value();
  ASSERT_TRUE(session->record_request({.model = "m", .reserve_micros = 5}, user_says("go")));
  const SessionId id = session->id();
  session.reset();
  auto [again, report] = runtime->resume(id, {.runs_calls = false}).value();
  EXPECT_TRUE(report.lost_a_response);
  EXPECT_FALSE(again.state().details->request);
  EXPECT_EQ(again.state().budget.totals.unconfirmed, 5);
}

TEST_P(SessionTest, GivesMessagesAnIdAndATime) {
  auto session = runtime->create().value();
  ASSERT_TRUE(session.append(user_says("hello")));
  const Message& message = session.state().transcript.at(0).message;
  EXPECT_FALSE(message.id.empty());
  EXPECT_EQ(message.created_at, clock.now());
}

TEST_P(SessionTest, KeepsABodyOfManyMegabytes) {
  std::optional<Session> session = runtime->create().value();
  const std::string text(3 << 20, 'x');
  ASSERT_TRUE(session->append(user_says(text)));
  EXPECT_EQ(text_of(session->state().transcript.at(0).message), text);
  const SessionId id = session->id();
  session.reset();
  EXPECT_EQ(text_of(runtime->open(id).value().state().transcript.at(0).message), text);
}

TEST_P(SessionTest, OfALivingOwnerIsRefusedAndSaysWhose) {
  const auto session = runtime->create().value();
  const auto other = start(8);

  const auto refused = other->open(session.id());

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::lease_held);
  EXPECT_NE(refused.error().message.find("on here, process 7, since 2026-01-01"), std::string::npos)
      << refused.error().message;
}

TEST_P(SessionTest, CanBeWaitedFor) {
  std::optional<Session> session = runtime->create().value();
  const SessionId id = session->id();
  const auto other = start();
  session.reset();
  EXPECT_TRUE(other->open(id, std::chrono::minutes(5)));
}

TEST_P(SessionTest, ThatWasTakenOverWritesNothing) {
  auto session = runtime->create().value();
  const auto other = start(8);
  clock.advance(std::chrono::minutes(1));
  ASSERT_TRUE(other->renew());
  const auto taken = other->open(session.id());
  ASSERT_TRUE(taken) << taken.error().message;

  const auto late = session.append(user_says("late"));

  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, ErrorCode::lease_lost);
  EXPECT_TRUE(session.state().transcript.empty());
}

TEST_P(SessionTest, ThatIsClosedIsFreeAtOnceAndWritesNothing) {
  auto session = runtime->create().value();
  ASSERT_TRUE(session.close());
  ASSERT_TRUE(session.close());

  EXPECT_TRUE(start()->open(session.id()));
  const auto late = session.append(user_says("late"));
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, ErrorCode::lease_lost);
}

TEST_P(SessionTest, RefusesTheRuntimesOwnChannels) {
  auto session = runtime->create().value();
  for (const char* channel : {"transcript", "budget", "calls"}) {
    const auto refused = session.append(channel, Body::from_text("1"));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
  }
}

TEST_P(SessionTest, ThatHasEndedIsReopenedOnPurposeOnly) {
  auto session = runtime->create().value();
  ASSERT_TRUE(session.set_status({.status = Status::completed}));
  const auto refused = session.set_status({.status = Status::active});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::conflict);
  EXPECT_EQ(store->sessions().read(session.id()).value().status, Status::completed);

  ASSERT_TRUE(session.reopen("ann", "one more question"));
  EXPECT_EQ(session.status(), Status::active);
  EXPECT_FALSE(session.reopen("ann", "again"));
}

TEST_P(SessionTest, ReadsAndComparesItsVersions) {
  auto session = runtime->create().value();
  ASSERT_TRUE(session.append(user_says("one")));
  const Version first = session.checkpoint().value();
  ASSERT_TRUE(session.append(user_says("two")));
  const Version second = session.checkpoint({.reason = "turn"}).value();

  EXPECT_EQ(session.state_at(Point::version(first)).value().transcript.size(), 1U);
  EXPECT_EQ(session.versions().value().size(), 2U);
  const auto between = session.diff(Point::version(first), Point::version(second)).value();
  EXPECT_EQ(between.messages_added.size(), 1U);
  EXPECT_TRUE(session.diff(Point::head(), Point::version(second)).value().is_empty());
}

TEST_P(SessionTest, GoesOnFromAnOldPoint) {
  auto session = runtime->create().value();
  ASSERT_TRUE(session.append(user_says("one")));
  const Version first = session.checkpoint().value();
  ASSERT_TRUE(session.append(user_says("two")));

  ASSERT_TRUE(session.rewind(Point::version(first)));
  ASSERT_TRUE(session.append(user_says("other")));

  ASSERT_EQ(session.state().transcript.size(), 2U);
  EXPECT_EQ(text_of(session.state().transcript.at(1).message), "other");
  const SessionId id = session.id();
  const State live = session.state();
  {
    const Session gone = std::move(session);
  }
  EXPECT_EQ(runtime->open(id).value().state(), live);
}

TEST_P(SessionTest, WhatWasPaidAfterAnOldPointStaysPaid) {
  auto session = runtime->create({.budget_micros = 1000}).value();
  const Version first = session.checkpoint().value();
  ASSERT_TRUE(session.record_request({.reserve_micros = 400}, user_says("one")));
  ASSERT_TRUE(
      session.record_response({.blocks = {TextBlock{.text = "done"}}}, {.cost_micros = 300}));
  ASSERT_TRUE(spawn(session, {.grant_micros = 200}));

  ASSERT_TRUE(session.rewind(Point::version(first)));

  EXPECT_EQ(session.state().budget.available(), 500);
  EXPECT_TRUE(session.state().transcript.empty());
  ASSERT_TRUE(session.rewind(Point::version(first)));
  EXPECT_EQ(session.state().budget.available(), 500);
}

TEST_P(SessionTest, AForkSharesWhatWasAndTheScopeOfEffects) {
  auto session = runtime->create().value();
  ASSERT_TRUE(session.append(user_says("one")));
  const Version first = session.checkpoint().value();
  ASSERT_TRUE(session.append(user_says("two")));

  const auto forked = runtime->fork(session.id(), Point::version(first)).value();
  const auto fork = runtime->open(forked.id).value();

  EXPECT_EQ(fork.state().transcript.size(), 1U);
  EXPECT_EQ(fork.state().details->origin->root, session.id().text());
}

TEST_P(SessionTest, AForkWithFreshEffectsHasAScopeOfItsOwn) {
  auto session = runtime->create().value();
  const auto forked = runtime->fork(session.id(), Point::head(), {.fresh_effects = true}).value();
  EXPECT_EQ(runtime->open(forked.id).value().state().details->origin->root, forked.id.text());
  EXPECT_EQ(session.state().details->origin->root, session.id().text());
}

TEST_P(SessionTest, OfARowThatTheStoreMadeAloneOpensLikeAnyOther) {
  const auto id = SessionId::parse("ses_early").value();
  ASSERT_TRUE(store->sessions().create({.id = id}));
  const auto session = runtime->open(id);
  ASSERT_TRUE(session);
  EXPECT_EQ(session->state().details->origin->root, "ses_early");
}

TEST_P(SessionTest, BeginsWithAllThatIsKnownOfItInOneCommit) {
  const auto id = SessionId::parse("ses_early").value();
  const SessionSpec spec{.id = id,
                         .setup = perdure::Setup{.model = "m"},
                         .budget_micros = 5'000'000,
                         .agent_digest = "digest",
                         .input = user_says("Hello")};
  const auto before = store->info().commits;

  const auto session = runtime->create(spec);

  ASSERT_TRUE(session) << session.error().message;
  EXPECT_EQ(store->info().commits, before + 1);
  EXPECT_EQ(session->state().setup->model, "m");
  EXPECT_EQ(session->state().budget.available(), 5'000'000);
  EXPECT_EQ(session->state().details->origin->agent_digest, "digest");
  ASSERT_EQ(session->state().transcript.size(), 1U);
  const Message& said = session->state().transcript.front().message;
  EXPECT_EQ(text_of(said), "Hello");
  EXPECT_FALSE(said.id.empty());
  EXPECT_EQ(said.created_at, clock.now());
  EXPECT_EQ(must(session->state_at(Point::head())), session->state());
}

TEST_P(SessionTest, ThatIsHeldIsNotGivenUpByACreationThatIsRefused) {
  const auto id = SessionId::parse("ses_early").value();
  Session held = runtime->create({.id = id}).value();

  const auto again = runtime->create({.id = id, .input = user_says("Hello")});

  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, ErrorCode::already_exists);
  EXPECT_TRUE(held.append(user_says("I am still here")));
  EXPECT_EQ(store->sessions().read(id)->holder->fence, held.lease().fence);
}

// A creation that is made, and whose first answers are lost.
class DeafStore final : public WatchedStore {
 public:
  explicit DeafStore(Store& behind) : WatchedStore(behind) {}
  Result<Created> create(const NewSession& session, const WorkerId& worker,
                         const Batch& first) override {
    auto created = WatchedStore::create(session, worker, first);
    if (!created || lost_-- <= 0) return created;
    return fail(ErrorCode::commit_unknown, "nobody knows");
  }

 private:
  int lost_ = 2;
};

TEST_P(SessionTest, WhoseCreationWasNotAnsweredIsCreatedOnce) {
  DeafStore deaf(*store);
  const auto worker = Runtime::start(deaf, {.host = "here", .pid = 9, .clock = &clock}).value();

  auto session = worker->create({.input = user_says("Hello")});

  ASSERT_TRUE(session) << session.error().message;
  EXPECT_EQ(session->state().transcript.size(), 1U);
  EXPECT_TRUE(session->append(user_says("And now?")));
  EXPECT_EQ(must(read_state(*store, session->id(), Point::head())), session->state());
}

TEST_P(SessionTest, StartsWithItsBudget) {
  const auto session = runtime->create({.budget_micros = 5'000'000}).value();
  EXPECT_EQ(session.state().budget.available(), 5'000'000);
}

INSTANTIATE_TEST_SUITE_P(EveryBackend, SessionTest, testing::ValuesIn(every_backend()),
                         [](const auto& backend) { return backend.param.name; });
INSTANTIATE_TEST_SUITE_P(EveryBackend, LongLineTest, testing::ValuesIn(every_backend()),
                         [](const auto& backend) { return backend.param.name; });

}  // namespace
}  // namespace perdure
