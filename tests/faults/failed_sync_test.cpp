// A failed sync: the kernel may have dropped the pages it could not write, and will not say
// so again. So the commit is unknown, the store takes no more writes, reads go on, and only
// a store opened anew finds out what is there.

#include <chrono>
#include <cstdint>
#include <future>
#include <gtest/gtest.h>
#include <limits>
#include <vector>

#include "faults/faulty_store.hpp"
#include "store/api/lookup.hpp"

namespace perdure {
namespace {

class FailedSync : public testing::Test {
 protected:
  void fail_next(const std::string& call) {
    faulty.vfs().only(call);
    faulty.vfs().fail_at(1, IoFault::error, Lasting::once);
  }
  Result<Receipt> take_turn(Version number) {
    return faulty.store().commit(lease, FaultyStore::turn("s", number));
  }

  FaultyStore faulty;
  Lease lease = faulty.own("s");
};

TEST_F(FailedSync, OfACommitLeavesItUnknown) {
  ASSERT_TRUE(take_turn(1));
  fail_next("sync wal");

  const auto answer = take_turn(2);

  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::commit_unknown);
}

TEST_F(FailedSync, ClosesTheStoreToEveryWrite) {
  ASSERT_TRUE(take_turn(1));
  fail_next("sync wal");
  ASSERT_FALSE(take_turn(2));

  const std::vector<Result<void>> refused = [&] {
    std::vector<Result<void>> answers;
    const auto keep = [&](const auto& answer) {
      answers.push_back(answer ? Result<void>{} : std::unexpected(answer.error()));
    };
    Store& store = faulty.store();
    keep(take_turn(2));
    keep(take_turn(3));
    keep(store.sessions().create({.id = SessionId::parse("other").value()}));
    keep(store.blobs().put("bytes"));
    keep(store.inbox().post({.session = lease.session,
                             .id = MessageId::parse("message").value(),
                             .kind = "user",
                             .body = Body::from_text("{}")}));
    keep(store.sync());
    return answers;
  }();

  for (std::size_t i = 0; i < refused.size(); ++i) {
    ASSERT_FALSE(refused[i]) << i;
    EXPECT_EQ(refused[i].error().code, ErrorCode::closed) << i;
  }
}

TEST_F(FailedSync, LeavesReadsAlone) {
  ASSERT_TRUE(take_turn(1));
  fail_next("sync wal");
  ASSERT_FALSE(take_turn(2));

  const auto entries = faulty.store().log().read(lease.session, {});

  ASSERT_TRUE(entries) << entries.error().message;
  EXPECT_TRUE(entries->size() == 1 || entries->size() == 2);
  EXPECT_TRUE(faulty.store().sessions().read(lease.session));
  EXPECT_TRUE(faulty.store().sessions().list({}));
}

TEST_F(FailedSync, ClosesTheStoreToAllWhoHaveItOpen) {
  auto other = faulty.open_again().value();
  ASSERT_TRUE(other->sessions().create({.id = SessionId::parse("other").value()}));
  fail_next("sync wal");
  ASSERT_FALSE(take_turn(1));

  const auto refused = other->sessions().create({.id = SessionId::parse("more").value()});

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::closed);
  EXPECT_TRUE(other->sessions().read(SessionId::parse("other").value()));
  // One that is opened now recovers, though the closed ones are still there to read.
  auto later = faulty.open_again();
  ASSERT_TRUE(later) << later.error().message;
  EXPECT_TRUE((*later)->sessions().create({.id = SessionId::parse("more").value()}));
  EXPECT_FALSE(take_turn(1));
  EXPECT_TRUE(faulty.store().sessions().read(SessionId::parse("more").value()));
}

TEST_F(FailedSync, OfARecoveryLeavesItForTheNext) {
  ASSERT_TRUE(take_turn(1));
  fail_next("sync wal");
  ASSERT_FALSE(take_turn(2));
  faulty.vfs().only("sync");
  faulty.vfs().fail_at(1, IoFault::error, Lasting::for_ever);

  const auto failed = faulty.open_again();
  faulty.vfs().heal();

  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::unavailable) << failed.error().message;
  faulty.reopen();
  lease = faulty.own("s");
  ASSERT_TRUE(take_turn(2));
  EXPECT_EQ(faulty.find_wrong_turn("s", 2), "");
}

TEST_F(FailedSync, IsMendedByOpeningAgainAndRepeatingTheBatch) {
  ASSERT_TRUE(take_turn(1));
  fail_next("sync wal");
  ASSERT_FALSE(take_turn(2));

  const auto token = faulty.store().loss_token();
  faulty.reopen();
  EXPECT_NE(faulty.store().loss_token().value(), token.value())
      << "what was not synced may be gone";
  lease = faulty.own("s");
  const auto receipt = take_turn(2);
  const auto repeated = take_turn(2);

  ASSERT_TRUE(receipt) << receipt.error().message;
  ASSERT_TRUE(repeated);
  EXPECT_EQ(*receipt, *repeated);
  EXPECT_EQ(faulty.find_wrong_turn("s", 2), "");
  EXPECT_TRUE(take_turn(3));
}

TEST_F(FailedSync, OfACheckpointClosesTheStoreToo) {
  fail_next("sync database");
  Version turns = 0;
  // Each is acknowledged by its own sync, of the WAL; a checkpoint comes after 500 pages.
  while (faulty.vfs().failed().empty() && turns < 400) {
    ++turns;
    ASSERT_TRUE(faulty.store().commit(lease, FaultyStore::turn("s", turns, 40'000)));
  }
  ASSERT_FALSE(faulty.vfs().failed().empty()) << "no checkpoint";

  const auto next = take_turn(turns + 1);

  ASSERT_FALSE(next);
  EXPECT_EQ(next.error().code, ErrorCode::closed);
  faulty.reopen();
  lease = faulty.own("s");
  EXPECT_EQ(faulty.find_wrong_turn("s", turns), "");
  EXPECT_TRUE(take_turn(turns + 1));
}

TEST(FaultyWait, ForAChangeOutlastsReadsThatFailForAWhile) {
  FaultyStore faulty;
  Store& store = faulty.store();
  auto other = faulty.open_again().value();
  const std::uint64_t before = store.change_number().value();
  faulty.vfs().only("share");
  faulty.vfs().fail_at(std::numeric_limits<std::uint64_t>::max(), IoFault::error, Lasting::once);
  auto changed = std::async(std::launch::async,
                            [&] { return store.wait_for_change(before, std::chrono::minutes(5)); });
  const auto wait_for_looks = [&](std::uint64_t count) {
    while (faulty.vfs().calls() < count &&
           changed.wait_for(std::chrono::milliseconds(1)) != std::future_status::ready) {
    }
  };

  wait_for_looks(2);
  faulty.vfs().fail_at(1, IoFault::error, Lasting::for_ever);
  wait_for_looks(3);
  faulty.vfs().heal();
  ASSERT_TRUE(other->sessions().create({.id = SessionId::parse("other").value()}));

  const auto number = changed.get();
  ASSERT_TRUE(number) << number.error().message;
  EXPECT_GT(*number, before);
}

}  // namespace
}  // namespace perdure
