// retention.hpp made executable: collecting blobs, giving space back.

#include "contract/store_contract.hpp"
#include "perdure/store/log.hpp"
#include "store/api/limits.hpp"
#include "store/api/lookup.hpp"
#include "store/api/seam.hpp"

namespace perdure {
namespace {

class CollectContract : public StoreContract {
 protected:
  Freed collect(Duration staged_for = blob_grace_min) {
    return must(store->upkeep().collect_blobs(staged_for));
  }

  BlobRef put(const std::string& bytes) { return must(store->blobs().put(bytes)); }
  bool is_there(const BlobRef& ref) { return must(has_blob(store->blobs(), ref)); }

  NewEntry naming(const BlobRef& ref) {
    NewEntry entry = message("");
    entry.body = Body::from_blob(ref);
    return entry;
  }

  void wait() { clock.advance(blob_grace_min + 1ms); }
};

INSTANTIATE_TEST_SUITE_P(EveryBackend, CollectContract, testing::ValuesIn(every_form()), name_of);

TEST_P(CollectContract, BlobsThatNothingNamesGo) {
  const BlobRef ref = put("bytes");
  wait();

  EXPECT_EQ(collect(), (Freed{.items = 1, .bytes = 5}));

  EXPECT_FALSE(is_there(ref));
  EXPECT_EQ(code_of(store->blobs().get(ref)), ErrorCode::not_found);
  EXPECT_EQ(collect(), Freed{});
}

TEST_P(CollectContract, BlobsThatAnEntryNamesStay) {
  const Lease lease = own(create());
  const BlobRef ref = put("bytes");
  commit(lease, batch_of(lease.session, {naming(ref)}));
  wait();

  EXPECT_EQ(collect(), Freed{});
  EXPECT_TRUE(is_there(ref));
}

TEST_P(CollectContract, BlobsThatAWaitingMessageNamesStayUntilItIsConsumed) {
  const Lease lease = own(create());
  const BlobRef ref = put("bytes");
  must(store->inbox().post({lease.session, message_id("m"), "note", Body::from_blob(ref)}));
  wait();
  EXPECT_EQ(collect(), Freed{});

  Batch made = batch(lease.session);
  made.consumed = {message_id("m")};
  commit(lease, made);
  EXPECT_EQ(collect().items, 1U);
}

TEST_P(CollectContract, AMessageMayOnlyNameABlobThatIsThere) {
  const SessionId session = create();
  const InboxMessage message{session, message_id("m"), "note",
                             Body::from_blob({sha256("never put"), 9})};

  EXPECT_EQ(code_of(store->inbox().post(message)), ErrorCode::invalid_argument);
  EXPECT_TRUE(must(store->inbox().list(session, 9)).empty());
}

TEST_P(CollectContract, BlobsOfErasedPrunedAndRemovedEntriesGo) {
  const Lease lease = own(create());
  NewEntry superseded = naming(put("pruned"));
  superseded.channel = "plan";
  const BlobRef removed = put("removed");
  commit(lease, batch_of(lease.session,
                         {naming(put("erased")), superseded, value("new"), naming(removed)}));
  wait();

  must(store->upkeep().erase(lease.session, {1}));
  EXPECT_EQ(collect().bytes, 6U);
  must(store->upkeep().prune(lease.session, {}));
  EXPECT_EQ(collect().bytes, 6U);
  must(store->ownership().release(lease));
  EXPECT_TRUE(is_there(removed));
  must(store->upkeep().remove(lease.session));
  EXPECT_EQ(collect().bytes, 7U);
}

TEST_P(CollectContract, BlobsThatWerePutLatelyStay) {
  const BlobRef ref = put("bytes");
  clock.advance(blob_grace_min);
  EXPECT_EQ(collect(), Freed{});

  clock.advance(1ms);
  EXPECT_EQ(collect(blob_grace_min + 1h), Freed{});
  EXPECT_TRUE(is_there(ref));
}

TEST_P(CollectContract, PuttingABlobAgainStartsItsTimeAnew) {
  const BlobRef ref = put("bytes");
  clock.advance(blob_grace_min);
  put("bytes");
  wait();
  put("bytes");
  clock.advance(blob_grace_min);

  EXPECT_EQ(collect(), Freed{});
  EXPECT_TRUE(is_there(ref));
  clock.advance(1ms);
  EXPECT_EQ(collect().items, 1U);
}

TEST_P(CollectContract, ABlobThatWasCollectedCanBePutAgain) {
  put("bytes");
  wait();
  collect();

  const BlobRef ref = put("bytes");
  EXPECT_EQ(collect(), Freed{});
  EXPECT_EQ(must(store->blobs().get(ref)), "bytes");
}

TEST_P(CollectContract, ACommitThatNamesACollectedBlobIsRefused) {
  const Lease lease = own(create());
  const BlobRef ref = put("bytes");
  wait();
  collect();

  EXPECT_EQ(code_of(store->commit(lease, batch_of(lease.session, {naming(ref)}))),
            ErrorCode::invalid_argument);
}

TEST_P(CollectContract, ATimeBelowTheLeastIsRefused) {
  EXPECT_EQ(code_of(store->upkeep().collect_blobs(blob_grace_min - 1ms)),
            ErrorCode::invalid_argument);
}

TEST_P(CollectContract, ManyBlobsAreCollectedInOneCall) {
  for (int i = 0; i < 600; ++i) put("blob " + std::to_string(i));
  wait();

  EXPECT_EQ(collect().items, 600U);
}

TEST_P(CollectContract, VacuumChangesNothingThatCanBeRead) {
  const Lease lease = own(create());
  for (int i = 0; i < 50; ++i) {
    commit(lease, batch_of(lease.session, {value(std::string(20'000, 'x')), message("text")}));
  }
  must(store->upkeep().prune(lease.session, {}));
  const std::string before = everything(*store);

  must(store->upkeep().vacuum());

  EXPECT_EQ(everything(*store), before);
}

}  // namespace
}  // namespace perdure
