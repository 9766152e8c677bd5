// What outlives a store object, and several objects on one store.

#include "contract/store_contract.hpp"
#include "store/api/lookup.hpp"

namespace perdure {
namespace {

using testing::ElementsAre;

TEST_P(SurvivingStore, EverythingReadBeforeClosingIsReadAfterReopening) {
  const SessionId session = create();
  const Lease lease = own(session);
  Batch made = batch_of(session, {message("one"), value("two")});
  made.checkpoint = NewCheckpoint{.reason = "r", .label = "l", .metadata = R"({"a":1})"};
  made.status = StatusChange{.status = Status::waiting, .wait_reason = "w", .wake_at = clock.now()};
  made.annotation = Annotation{
      .title = "T", .opening = "O", .tags = std::vector<std::string>{"x"}, .metadata = "{}"};
  const Receipt receipt = commit(lease, made);
  in_state(lease, CallState::abandoned, sha256("key"));
  branch(lease, Point::position(1), "elsewhere");
  fork("fork", session, Point::position(2));
  post(session, "m1");
  const BlobRef blob = must(store->blobs().put("blob"));
  must(store->lookup().acquire_resource("r", lease.worker));
  must(store->ownership().retire(lease.worker));
  const auto before = everything(*store);
  store.reset();

  store = must(open());

  EXPECT_EQ(everything(*store), before);
  EXPECT_EQ(must(store->lookup().find_receipt(session, receipt.batch)), receipt);
  EXPECT_EQ(must(store->blobs().get(blob)), "blob");
  EXPECT_EQ(commit(lease, made), receipt) << "a repeat is answered";
}

TEST_P(SurvivingStore, AMessageConsumedBeforeClosingStaysConsumed) {
  const SessionId session = create();
  const Lease lease = own(session);
  post(session, "m1");
  Batch made = batch(session);
  made.consumed = {message_id("m1")};
  commit(lease, made);
  store.reset();

  store = must(open());
  post(session, "m1");

  EXPECT_THAT(must(store->inbox().list(session, 10)), testing::IsEmpty());
}

TEST_P(SurvivingStore, FencesGoOnRisingAfterReopening) {
  const SessionId session = create();
  const Lease lease = own(session, "a");
  const auto resource = must(store->lookup().acquire_resource("r", lease.worker));
  store.reset();

  store = must(open());

  EXPECT_GT(own(session, "b").fence, lease.fence);
  EXPECT_GT(must(store->lookup().acquire_resource("r", worker_id("b"))).fence, resource.fence);
}

TEST_P(SurvivingStore, ItsLossTokenIsTheSameAfterReopeningAndToOthers) {
  const std::string token = must(store->loss_token());
  EXPECT_EQ(must(must(open())->loss_token()), token);
  store.reset();

  store = must(open());

  EXPECT_EQ(must(store->loss_token()), token);
}

TEST_P(SurvivingStore, SegmentsGoOnCountingAfterReopening) {
  const SegmentId first = must(store->lookup().line(create("a"), {})).at(0).id;
  store.reset();
  store = must(open());

  EXPECT_GT(must(store->lookup().line(create("b"), {})).at(0).id, first);
}

TEST_P(SurvivingStore, AWorkerLivesNoLongerThanItsStoreObject) {
  const SessionId session = create();
  const auto other = must(open());
  const Lease lease = own(session, "a");
  must(other->ownership().enroll({.id = worker_id("b")}));
  EXPECT_EQ(code_of(other->ownership().acquire(session, worker_id("b"))), ErrorCode::lease_held);
  EXPECT_TRUE(must(other->sessions().read(session)).holder->alive);

  store.reset();  // Its lease time has not passed: the clock stands still.

  EXPECT_FALSE(must(other->sessions().read(session)).holder->alive);
  EXPECT_GT(must(other->ownership().acquire(session, worker_id("b"))).fence, lease.fence);
}

TEST_P(SurvivingStore, AWorkerOfAClosedObjectIsNotLiveInAnother) {
  const SessionId session = create();
  enroll("a");
  store.reset();
  store = must(open());

  EXPECT_EQ(code_of(store->ownership().acquire(session, worker_id("a"))), ErrorCode::lease_lost);
}

TEST_P(SurvivingStore, AWorkerOfAClosedObjectThatHeldNothingIsForgotten) {
  enroll("a");
  store.reset();
  store = must(open());

  EXPECT_TRUE(store->ownership().enroll({.id = worker_id("a")}));
}

TEST_P(SurvivingStore, AWorkerOfAClosedObjectIsKnownWhileASessionNamesIt) {
  const SessionId session = create();
  own(session, "a");
  store.reset();
  store = must(open());

  EXPECT_EQ(code_of(store->ownership().enroll({.id = worker_id("a")})), ErrorCode::already_exists);
  EXPECT_EQ(must(store->sessions().read(session)).holder->worker, worker_id("a"));
}

TEST_P(SurvivingStore, AMessagePostedThroughOneObjectIsReadThroughAnother) {
  const SessionId session = create();
  const auto other = must(open());

  must(other->inbox().post({session, message_id("m1"), "note", Body::from_bytes("hi")}));

  EXPECT_EQ(must(store->inbox().list(session, 10)).at(0).body.bytes(), "hi");
}

TEST_P(SurvivingStore, TwoObjectsShareOneHead) {
  const SessionId session = create();
  const auto other = must(open());
  const Lease lease = own(session);
  say(lease, "one");

  Batch made{.id = batch_id("from the other"), .expected_head = 0};
  made.entries = {message("two")};
  const auto stale = other->commit(lease, made);
  EXPECT_EQ(code_of(stale), ErrorCode::conflict);
  EXPECT_EQ(subject_of(stale), "1");
  made.expected_head = 1;
  must(other->commit(lease, made));

  EXPECT_THAT(texts(session), ElementsAre("one", "two"));
  EXPECT_EQ(commit(lease, made), must(other->lookup().find_receipt(session, made.id)));
}

TEST_P(SurvivingStore, AKeyIsClaimedOnceAcrossObjects) {
  const SessionId session = create();
  const auto other = must(open());
  const Lease lease = own(session);
  const Position holder = in_state(lease, CallState::dispatched, sha256("key"));
  const Position rival = intend(lease, sha256("key"));

  Batch made{.id = batch_id("from the other"), .expected_head = rival};
  made.calls = {Dispatch{.call = rival}};
  const auto claim = other->commit(lease, made);

  EXPECT_EQ(code_of(claim), ErrorCode::conflict);
  EXPECT_EQ(subject_of(claim), call_name(session, holder));
}

TEST_P(SurvivingStore, ARelaxedSyncSurvivesTheObject) {
  const SessionId session = create();
  Batch made = batch_of(session, {message("one")});
  made.sync = Sync::later;
  commit(own(session), made);
  store.reset();

  store = must(open());

  EXPECT_THAT(texts(session), ElementsAre("one"));
}

}  // namespace
}  // namespace perdure
