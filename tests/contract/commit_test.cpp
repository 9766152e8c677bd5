// Store::commit made executable: what a batch does. What is refused is in
// checks_test.cpp, calls are in ledger_test.cpp, lines in branch_and_fork_test.cpp.

#include "contract/store_contract.hpp"
#include "store/api/lookup.hpp"

namespace perdure {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class CommitContract : public StoreContract {
 protected:
  SessionId session = create();
  Lease lease = own(session);
};

INSTANTIATE_TEST_SUITE_P(EveryBackend, CommitContract, testing::ValuesIn(every_form()), name_of);

TEST_P(CommitContract, AReceiptSaysWhereTheEntriesAre) {
  say(lease, "one");
  clock.advance(1s);
  const Batch made = batch_of(session, {message("two"), message("three")});

  const Receipt receipt = commit(lease, made);

  EXPECT_EQ(receipt.batch, made.id);
  EXPECT_EQ(receipt.first, 2U);
  EXPECT_EQ(receipt.count, 2U);
  EXPECT_EQ(receipt.head, 3U);
  EXPECT_EQ(receipt.version, std::nullopt);
  EXPECT_EQ(receipt.at, clock.now());
  EXPECT_THAT(texts(session), ElementsAre("one", "two", "three"));
  EXPECT_THAT(positions(session), ElementsAre(1U, 2U, 3U));
  EXPECT_EQ(row(session).head, 3U);
  EXPECT_EQ(row(session).next, 4U);
}

TEST_P(CommitContract, AnEntryIsReadAsItWasCommitted) {
  NewEntry entry = value(R"({"a":  1.0})", "my channel");
  entry.kind = "some kind";
  entry.body = Body::from_text(R"({"a":  1.0})");
  entry.tally = {.turns = 1, .steps = 2, .tokens_in = 3, .tokens_out = 4, .cost_micros = -5};
  commit(lease, batch_of(session, {entry}));

  const Entry read = must(store->log().read(session, {})).at(0);

  EXPECT_EQ(read.position, 1U);
  EXPECT_EQ(read.channel, entry.channel);
  EXPECT_EQ(read.kind, entry.kind);
  EXPECT_EQ(read.fold, Fold::replace);
  EXPECT_EQ(read.body, entry.body);
  EXPECT_EQ(read.hash, sha256(entry.body.bytes()));
  EXPECT_EQ(read.tally, entry.tally);
  EXPECT_EQ(read.at, clock.now());
  EXPECT_EQ(read.condition, Condition::intact);
}

TEST_P(CommitContract, ABodyIsKeptByteForByte) {
  std::string all_bytes;
  for (int i = 0; i < 256; ++i) all_bytes += static_cast<char>(i);
  const std::vector<Body> bodies{
      Body(),
      Body::from_bytes(all_bytes),
      Body::from_text("{ \"b\" : 1.00,\n\t\"a\":12345678901234567890, \"a\":\"\\ud800\" }"),
      Body::from_text("not json {"),
      Body::from_text("\"\xff\""),
      Body::from_bytes("{\"json\":\"kept as bytes\"}"),
      Body::from_bytes(std::string("zero\0inside", 11)),
      Body::from_bytes(std::string(3'000'000, 'x')),
  };
  Batch made = batch(session);
  for (const Body& body : bodies) {
    made.entries.push_back(message(""));
    made.entries.back().body = body;
  }
  commit(lease, made);

  const auto entries = must(store->log().read(session, {}));

  ASSERT_EQ(entries.size(), bodies.size());
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    EXPECT_TRUE(entries[i].body == bodies[i]) << i;
    EXPECT_EQ(entries[i].hash, sha256(bodies[i].bytes())) << i;
  }
}

TEST_P(CommitContract, AnEntryKeepsTheTimeItHappened) {
  NewEntry early = message("early");
  early.at = clock.now() - 24h;
  NewEntry ancient = message("before the epoch");
  ancient.at = Timestamp{-1ms};
  commit(lease, batch_of(session, {early, message("now"), ancient}));

  const auto entries = must(store->log().read(session, {}));

  EXPECT_EQ(entries.at(0).at, clock.now() - 24h);
  EXPECT_EQ(entries.at(1).at, clock.now());
  EXPECT_EQ(entries.at(2).at, Timestamp{-1ms});
}

TEST_P(CommitContract, AnEmptyBatchGetsAReceipt) {
  say(lease, "one");

  const Receipt receipt = commit(lease, batch(session));

  EXPECT_EQ(receipt.first, 2U);
  EXPECT_EQ(receipt.count, 0U);
  EXPECT_EQ(receipt.head, 1U);
  EXPECT_EQ(must(store->lookup().find_receipt(session, receipt.batch)), receipt);
}

TEST_P(CommitContract, ARepeatedBatchReturnsItsFirstReceiptAndDoesNothingElse) {
  Batch made = batch_of(session, {message("one")});
  made.checkpoint = NewCheckpoint{.label = "first"};
  const Receipt first = commit(lease, made);
  clock.advance(1s);
  say(lease, "two");
  const auto before = everything(*store);

  EXPECT_EQ(commit(lease, made), first);
  EXPECT_EQ(everything(*store), before);
}

TEST_P(CommitContract, ARepeatIsAnsweredWhoeverAsksAndWhateverItHolds) {
  const Batch made = batch_of(session, {message("one")});
  const Receipt first = commit(lease, made);
  must(store->ownership().release(lease));
  own(session, "another");
  const auto before = everything(*store);
  Batch other{.id = made.id, .expected_head = 77};
  other.branch_from = Point::version(9);
  other.entries = {message("not one")};
  other.calls = {Dispatch{.call = 12}};
  other.consumed = {message_id("unknown")};

  EXPECT_EQ(must(store->commit({session, worker_id("stranger"), 9}, other)), first);
  EXPECT_EQ(everything(*store), before);
}

TEST_P(CommitContract, ABatchIdBelongsToItsSession) {
  const Lease second = own(create("second"));
  const Batch made = batch_of(session, {message("one")});
  commit(lease, made);

  commit(second, made);

  EXPECT_THAT(texts(second.session), ElementsAre("one"));
  EXPECT_NE(must(store->lookup().find_receipt(session, made.id))->chain,
            must(store->lookup().find_receipt(second.session, made.id))->chain);
}

TEST_P(CommitContract, ABatchThatWasRefusedMayBeCommittedLater) {
  Batch made = batch_of(session, {message("one")});
  made.expected_head = 5;
  EXPECT_EQ(code_of(store->commit(lease, made)), ErrorCode::conflict);
  made.expected_head = 0;

  EXPECT_EQ(commit(lease, made).head, 1U);
}

TEST_P(CommitContract, TheChainCoversEveryCommitBefore) {
  const auto chain_of = [&](const std::string& name, const std::vector<std::string>& said) {
    const Lease mine = own(create(name));
    Receipt last;
    for (std::size_t i = 0; i < said.size(); ++i) {
      Batch made{.id = batch_id(std::to_string(i)), .expected_head = last.head};
      made.entries = {message(said[i])};
      last = commit(mine, made);
    }
    return last.chain;
  };
  const Digest one = chain_of("a", {"x", "y", "z"});

  EXPECT_NE(one, chain_of("b", {"x", "y", "z"}));
  EXPECT_NE(one, Digest{});
  const Receipt first = say(lease, "x");
  const Receipt second = say(lease, "x");
  EXPECT_NE(first.chain, second.chain);
}

TEST_P(CommitContract, ACheckpointNamesTheHeadTheBatchLeavesBehind) {
  clock.advance(1s);
  Batch made = batch_of(session, {message("one"), message("two")});
  made.checkpoint =
      NewCheckpoint{.reason = "turn", .label = "before lunch", .metadata = R"({"a": [1, 2]})"};

  const Receipt receipt = commit(lease, made);

  EXPECT_EQ(receipt.version, 1U);
  EXPECT_EQ(must(store->log().read_checkpoint(session, 1)),
            (Checkpoint{.version = 1,
                        .position = 2,
                        .at = clock.now(),
                        .reason = "turn",
                        .label = "before lunch",
                        .metadata = R"({"a": [1, 2]})",
                        .tally = {}}));
  EXPECT_EQ(row(session).version, 1U);
}

TEST_P(CommitContract, VersionsCountFromOneWithoutGaps) {
  EXPECT_EQ(checkpoint(lease), 1U);
  say(lease, "one");
  EXPECT_EQ(checkpoint(lease), 2U);
  Batch refused = batch(session);
  refused.checkpoint = NewCheckpoint{};
  refused.consumed = {message_id("unknown")};
  EXPECT_FALSE(store->commit(lease, refused));

  EXPECT_EQ(checkpoint(lease), 3U);
  EXPECT_EQ(row(session).version, 3U);
  EXPECT_EQ(must(store->log().read_checkpoint(session, 1)).position, 0U);
}

TEST_P(CommitContract, EntriesAddUpInTheSessionAndItsCheckpoints) {
  const auto spend = [&](Tally tally) {
    Batch made = batch_of(session, {message("a"), message("b")});
    made.entries[0].tally = tally;
    made.entries[1].tally = {.steps = 1};
    made.checkpoint = NewCheckpoint{};
    commit(lease, made);
  };
  spend({.turns = 1, .steps = 2, .tokens_in = 30, .tokens_out = 40, .cost_micros = 500});
  spend({.turns = 1, .tokens_in = 1, .cost_micros = -100});

  const Tally first{.turns = 1, .steps = 3, .tokens_in = 30, .tokens_out = 40, .cost_micros = 500};
  const Tally both{.turns = 2, .steps = 4, .tokens_in = 31, .tokens_out = 40, .cost_micros = 400};
  EXPECT_EQ(must(store->log().read_checkpoint(session, 1)).tally, first);
  EXPECT_EQ(must(store->log().read_checkpoint(session, 2)).tally, both);
  EXPECT_EQ(row(session).tally, both);
}

TEST_P(CommitContract, AStatusChangeReplacesStatusReasonAndWakeTime) {
  change(lease,
         {.status = Status::waiting, .wait_reason = "for\nyou", .wake_at = clock.now() + 1s});
  EXPECT_EQ(row(session).status, Status::waiting);
  EXPECT_EQ(row(session).wait_reason, "for\nyou");
  EXPECT_EQ(row(session).wake_at, clock.now() + 1s);

  say(lease, "a commit without one changes none of them");
  EXPECT_EQ(row(session).status, Status::waiting);
  EXPECT_EQ(row(session).wait_reason, "for\nyou");

  change(lease, {.status = Status::completed});
  EXPECT_EQ(row(session).status, Status::completed);
  EXPECT_EQ(row(session).wait_reason, "");
  EXPECT_EQ(row(session).wake_at, std::nullopt);
}

TEST_P(CommitContract, AnAnnotationInABatchReplacesTheGivenParts) {
  must(store->sessions().annotate(session, {.title = "Old", .opening = "Kept"}));
  Batch made = batch(session);
  made.annotation = Annotation{.title = "New", .tags = std::vector<std::string>{"red"}};

  commit(lease, made);

  EXPECT_EQ(row(session).title, "New");
  EXPECT_EQ(row(session).opening, "Kept");
  EXPECT_THAT(row(session).tags, ElementsAre("red"));
}

TEST_P(CommitContract, AMessageIsConsumedInTheCommitThatNamesIt) {
  post(session, "m1");
  post(session, "m2");
  Batch made = batch_of(session, {message("moved")});
  made.consumed = {message_id("m1")};

  commit(lease, made);

  const auto left = must(store->inbox().list(session, 10));
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(left[0].id, message_id("m2"));
}

TEST_P(CommitContract, AMessageTakesEffectOnce) {
  post(session, "m1");
  Batch first = batch_of(session, {message("moved")});
  first.consumed = {message_id("m1")};
  commit(lease, first);
  Batch second = batch_of(session, {message("moved again")});
  second.consumed = {message_id("m1")};

  const auto refused = store->commit(lease, second);

  EXPECT_EQ(code_of(refused), ErrorCode::conflict);
  EXPECT_EQ(subject_of(refused), "m1");
  EXPECT_EQ(must(store->sessions().read(session)).head, 1U);
}

TEST_P(CommitContract, WaitingWithAMessageInTheInboxIsDueAtOnce) {
  post(session, "just before");
  Batch made = batch(session);
  made.status = StatusChange{.status = Status::waiting, .wait_reason = "an answer"};
  commit(lease, made);
  must(store->ownership().release(lease));

  const auto due = must(store->sessions().due(10));

  ASSERT_EQ(due.size(), 1U);
  EXPECT_EQ(due[0].id, session);
}

TEST_P(CommitContract, NobodyOwnsASessionThatHasNoOwner) {
  must(store->ownership().release(lease));

  const auto forged = store->commit({.session = session, .fence = lease.fence}, batch(session));

  EXPECT_EQ(code_of(forged), ErrorCode::lease_lost);
}

TEST_P(CommitContract, ChildrenAreCreatedWithTheCommit) {
  say(lease, "one");
  Batch made = batch_of(session, {message("spawn")});
  NewSession child{.id = session_id("child")};
  child.annotation.title = "Helper";
  child.origin =
      NewSession::Origin{.session = session, .at = Point::position(1), .lineage = Lineage::child};
  NewSession forked{.id = session_id("fork")};
  forked.origin = NewSession::Origin{.session = session, .at = Point::position(1)};
  made.children = {child, forked};

  commit(lease, made);

  EXPECT_EQ(row(child.id).title, "Helper");
  EXPECT_EQ(row(child.id).parent, (Parent{session, 1, Lineage::child}));
  EXPECT_EQ(row(child.id).created_at, clock.now());
  EXPECT_THAT(texts(child.id), IsEmpty());
  EXPECT_THAT(texts(forked.id), ElementsAre("one"));
}

TEST_P(CommitContract, AChildOfTheSessionSeesTheBatchApplied) {
  Batch made = batch_of(session, {message("one"), message("spawn")});
  NewSession child{.id = session_id("child")};
  child.origin = NewSession::Origin{.session = session, .lineage = Lineage::child};
  NewSession forked{.id = session_id("fork")};
  forked.origin = NewSession::Origin{.session = session, .at = Point::position(1)};
  made.children = {child, forked};

  commit(lease, made);

  EXPECT_EQ(row(child.id).parent->position, 2U);
  EXPECT_THAT(texts(forked.id), ElementsAre("one"));
}

TEST_P(CommitContract, ALaterSyncIsReadAtOnce) {
  Batch made = batch_of(session, {message("one")});
  made.sync = Sync::later;

  const Receipt receipt = commit(lease, made);

  EXPECT_THAT(texts(session), ElementsAre("one"));
  EXPECT_EQ(must(store->lookup().find_receipt(session, made.id)), receipt);
  must(store->sync());
}

TEST_P(CommitContract, ALargeBatchIsOneCommit) {
  Batch made = batch(session);
  for (int i = 0; i < 5'000; ++i) made.entries.push_back(message(std::to_string(i)));

  const Receipt receipt = commit(lease, made);

  EXPECT_EQ(receipt.count, 5'000U);
  EXPECT_EQ(receipt.head, 5'000U);
  LogQuery last;
  last.from = 5'000;
  EXPECT_THAT(texts(session, last), ElementsAre("4999"));
}

}  // namespace
}  // namespace perdure
