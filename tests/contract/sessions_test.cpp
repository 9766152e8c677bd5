// sessions.hpp made executable: creating, reading, annotating. Lists are in lists_test.cpp.

#include "contract/store_contract.hpp"

namespace perdure {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

NewSession described(const std::string& name) {
  NewSession session{.id = session_id(name)};
  session.annotation = {.title = "A title",
                        .opening = "Hello,\n\tworld",
                        .tags = std::vector<std::string>{"red", "blue"},
                        .metadata = R"({"team": "x"})"};
  return session;
}

TEST_P(StoreContract, ANewSessionHasAnEmptyLog) {
  const SessionId id = create("a");

  const SessionSummary session = row(id);
  EXPECT_EQ(session.head, 0U);
  EXPECT_EQ(session.next, 1U);
  EXPECT_EQ(session.version, 0U);
  EXPECT_EQ(session.tally, Tally{});
  EXPECT_EQ(session.attention, 0);
  EXPECT_EQ(session.status, Status::active);
  EXPECT_EQ(session.metadata, "{}");
  EXPECT_EQ(session.parent, std::nullopt);
  EXPECT_EQ(session.holder, std::nullopt);
  EXPECT_EQ(session.created_at, clock.now());
  EXPECT_EQ(session.updated_at, clock.now());
  EXPECT_THAT(texts(id), IsEmpty());
}

TEST_P(StoreContract, CreateReturnsTheSessionAsItIsRead) {
  const auto created = store->sessions().create(described("a"));

  EXPECT_EQ(must(created), row(session_id("a")));
}

TEST_P(StoreContract, ASessionIsCreatedWithItsAnnotation) {
  const SessionSummary session = row(create(described("a")));

  EXPECT_EQ(session.title, "A title");
  EXPECT_EQ(session.opening, "Hello,\n\tworld");
  EXPECT_THAT(session.tags, ElementsAre("red", "blue"));
  EXPECT_EQ(session.metadata, R"({"team": "x"})");
}

TEST_P(StoreContract, ASessionIsCreatedWithItsStatus) {
  NewSession made{.id = session_id("a"), .status = Status::waiting};
  made.wait_reason = "for\napproval";
  made.wake_at = clock.now() + 5s;

  const SessionSummary session = row(create(made));

  EXPECT_EQ(session.status, Status::waiting);
  EXPECT_EQ(session.wait_reason, "for\napproval");
  EXPECT_EQ(session.wake_at, clock.now() + 5s);
}

TEST_P(StoreContract, AnIdMayComeFromElsewhere) {
  const SessionId id = create("Größe/日本 'quoted' \"%_\"");

  EXPECT_EQ(row(id).id, id);
}

TEST_P(StoreContract, IdsThatDifferInCaseAreTwoSessions) {
  create("a");

  EXPECT_EQ(code_of(store->sessions().read(session_id("A"))), ErrorCode::not_found);
  EXPECT_EQ(create("A").text(), "A");
}

TEST_P(StoreContract, CreatingASessionTwiceAnswersAlreadyExistsAndChangesNothing) {
  create(described("a"));
  const auto before = everything(*store);
  clock.advance(1s);

  const auto again = store->sessions().create(NewSession{.id = session_id("a")});

  EXPECT_EQ(code_of(again), ErrorCode::already_exists);
  EXPECT_EQ(everything(*store), before);
}

TEST_P(StoreContract, ASessionCannotComeFromOneThatDoesNotExist) {
  for (const Lineage lineage : {Lineage::fork, Lineage::child}) {
    NewSession made{.id = session_id("a")};
    made.origin = NewSession::Origin{.session = session_id("nobody"), .lineage = lineage};

    EXPECT_EQ(code_of(store->sessions().create(made)), ErrorCode::not_found);
  }
  EXPECT_EQ(code_of(store->sessions().read(session_id("a"))), ErrorCode::not_found);
}

TEST_P(StoreContract, ASessionCannotComeFromAPointThatDoesNotExist) {
  const SessionId parent = create("parent");
  say(own(parent), "one");
  const auto before = everything(*store);

  for (const Lineage lineage : {Lineage::fork, Lineage::child}) {
    for (const Point point : {Point::version(1), Point::version(0), Point::position(2)}) {
      NewSession made{.id = session_id("a")};
      made.origin = NewSession::Origin{.session = parent, .at = point, .lineage = lineage};
      EXPECT_EQ(code_of(store->sessions().create(made)), ErrorCode::not_found) << describe(point);
    }
  }
  EXPECT_EQ(everything(*store), before);
}

TEST_P(StoreContract, AChildNamesItsParentAndHasALogOfItsOwn) {
  const SessionId parent = create("parent");
  say(own(parent), "one");
  NewSession made{.id = session_id("child")};
  made.origin = NewSession::Origin{.session = parent, .lineage = Lineage::child};

  const SessionSummary child = row(create(made));

  EXPECT_EQ(child.parent, (Parent{parent, 1, Lineage::child}));
  EXPECT_EQ(child.head, 0U);
  EXPECT_EQ(child.next, 1U);
  EXPECT_THAT(texts(child.id), IsEmpty());
}

TEST_P(StoreContract, ReadingAnUnknownSessionAnswersNotFound) {
  EXPECT_EQ(code_of(store->sessions().read(session_id("nobody"))), ErrorCode::not_found);
}

TEST_P(StoreContract, AnnotateReplacesTheGivenPartsOnly) {
  const SessionId id = create(described("a"));

  must(store->sessions().annotate(id, {.title = "Another"}));
  must(store->sessions().annotate(id, {.tags = std::vector<std::string>{}}));

  EXPECT_EQ(row(id).title, "Another");
  EXPECT_EQ(row(id).opening, "Hello,\n\tworld");
  EXPECT_THAT(row(id).tags, IsEmpty());
  EXPECT_EQ(row(id).metadata, R"({"team": "x"})");

  must(store->sessions().annotate(id, {.opening = "Bye", .metadata = R"({"b":2,"a":1})"}));

  EXPECT_EQ(row(id).title, "Another");
  EXPECT_EQ(row(id).opening, "Bye");
  EXPECT_EQ(row(id).metadata, R"({"b":2,"a":1})");
}

TEST_P(StoreContract, AnnotateReturnsTheSessionAsItIsRead) {
  const SessionId id = create("a");

  const auto annotated = store->sessions().annotate(id, {.title = "New"});

  EXPECT_EQ(must(annotated), row(id));
}

TEST_P(StoreContract, AnnotateNeedsNoLease) {
  const SessionId id = create("a");
  const Lease lease = own(id, "someone else");

  must(store->sessions().annotate(id, {.title = "New"}));

  EXPECT_EQ(row(id).title, "New");
  say(lease, "the owner goes on");
}

TEST_P(StoreContract, AnnotatingAnUnknownSessionAnswersNotFound) {
  const auto annotated = store->sessions().annotate(session_id("nobody"), {.title = "New"});

  EXPECT_EQ(code_of(annotated), ErrorCode::not_found);
}

TEST_P(StoreContract, TheRevisionRisesWithEveryChangeOfTheRow) {
  const SessionId id = create("a");
  const WorkerId worker = enroll("worker");
  std::vector<std::uint64_t> seen{row(id).revision};
  const auto look = [&] { seen.push_back(row(id).revision); };

  const Lease lease = must(store->ownership().acquire(id, worker));
  look();
  say(lease, "one");
  look();
  must(store->sessions().annotate(id, {.title = "New"}));
  look();
  post(id, "m1");
  look();
  must(store->ownership().release(lease));
  look();

  for (std::size_t i = 1; i < seen.size(); ++i) EXPECT_EQ(seen[i], seen[i - 1] + 1) << i;
}

TEST_P(StoreContract, WhatChangesNothingLeavesTheRevisionAlone) {
  const SessionId id = create("a");
  const Lease lease = own(id);
  const Batch first = batch_of(id, {message("one")});
  commit(lease, first);
  post(id, "m1");
  const SessionSummary before = row(id);
  clock.advance(1s);

  commit(lease, first);
  post(id, "m1");
  must(store->ownership().acquire(id, lease.worker));
  must(store->ownership().renew(lease.worker));
  must(store->ownership().release({id, lease.worker, lease.fence + 1}));

  EXPECT_EQ(row(id), before);
}

TEST_P(StoreContract, ASessionIsUpdatedByCommitsAndAnnotations) {
  const SessionId id = create("a");
  clock.advance(1s);
  const Lease lease = own(id);
  post(id, "m1");
  EXPECT_EQ(row(id).updated_at, clock.now() - 1s);

  say(lease, "one");
  EXPECT_EQ(row(id).updated_at, clock.now());

  clock.advance(1s);
  must(store->sessions().annotate(id, {.title = "New"}));
  EXPECT_EQ(row(id).updated_at, clock.now());
  EXPECT_EQ(row(id).created_at, clock.now() - 2s);
}

TEST_P(StoreContract, AnActiveSessionIsInterruptedWhileNobodyAliveRunsIt) {
  const SessionId id = create("a");
  EXPECT_TRUE(row(id).is_interrupted());

  const Lease lease = own(id);
  EXPECT_FALSE(row(id).is_interrupted());

  clock.advance(31s);
  EXPECT_TRUE(row(id).is_interrupted());

  change(lease, {.status = Status::completed});
  EXPECT_FALSE(row(id).is_interrupted());
}

TEST_P(StoreContract, TheHolderSaysWhoOwnsTheSessionAliveOrNot) {
  const SessionId id = create("a");
  clock.advance(1s);
  const Lease lease = own(id);
  Holder holder{.worker = lease.worker,
                .host = "host of worker",
                .pid = 7,
                .since = clock.now(),
                .fence = lease.fence,
                .alive = true};
  EXPECT_EQ(row(id).holder, holder);

  clock.advance(31s);
  holder.alive = false;
  EXPECT_EQ(row(id).holder, holder);
}

}  // namespace
}  // namespace perdure
