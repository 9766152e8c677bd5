// The disk is full while several threads commit as one group: at each write of it in turn,
// and where the transaction is so large that it meets the disk before its COMMIT, when
// SQLite undoes all of it in the middle.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <memory>
#include <vector>

#include "crash/scale.hpp"
#include "crash/stored_file.hpp"
#include "doubles/committer.hpp"
#include "faults/faulty_store.hpp"
#include "store/sqlite/engine/lock_file.hpp"

namespace perdure {
namespace {

constexpr std::size_t members = 4;

std::string name_of(std::size_t member) { return fmt::format("s{}", member); }

// The first leads, and is not part of the group.
Batch turn_of(std::size_t member, std::size_t bytes) {
  return FaultyStore::turn(name_of(member), 1, member == 0 ? 100 : bytes);
}

class FullDisk : public testing::Test {
 protected:
  // One leads alone, the others are the group behind it; the disk is full from write
  // `number` of theirs on. Returns what each was told.
  std::vector<Result<Receipt>> commit_on_full_disk(FaultyStore& faulty, std::uint64_t number,
                                                   std::size_t bytes) {
    std::vector<Lease> leases;
    for (std::size_t i = 0; i < members; ++i) leases.push_back(faulty.own(name_of(i)));
    auto turn = sqlite::LockFile::open(faulty.path() + "-lock").value();
    EXPECT_TRUE(turn.take_turn(Duration{0}));
    const int asked = faulty.clock().asked();
    faulty.vfs().only("write wal");
    Committers committers;
    for (std::size_t i = 0; i < members; ++i) {
      committers.push_back(
          std::make_unique<Committer>(faulty.store(), leases[i], turn_of(i, bytes)));
      EXPECT_TRUE(wait_until_queued(committers, faulty.clock(), asked + static_cast<int>(i) + 1));
    }
    faulty.vfs().fail_at(number, IoFault::full, Lasting::for_ever);
    turn.end_turn();
    std::vector<Result<Receipt>> answers;
    for (auto& committer : committers) answers.push_back(committer->finish());
    return answers;
  }

  // Who was told yes is there; who was told no is not; who was told neither may be.
  static void expect_told_the_truth(FaultyStore& faulty,
                                    const std::vector<Result<Receipt>>& answers) {
    for (std::size_t i = 0; i < members; ++i) {
      const auto session = SessionId::parse(name_of(i)).value();
      const auto entries = faulty.store().log().read(session, {});
      ASSERT_TRUE(entries) << entries.error().message;
      if (answers[i]) {
        EXPECT_EQ(entries->size(), 1U) << i;
      } else if (answers[i].error().code == ErrorCode::unavailable) {
        EXPECT_EQ(entries->size(), 0U) << i;
      } else {
        EXPECT_EQ(answers[i].error().code, ErrorCode::commit_unknown) << answers[i].error().message;
      }
    }
  }

  // Space is back: each gets its receipt, the one it was told before if any.
  static void expect_all_go_on(FaultyStore& faulty, const std::vector<Result<Receipt>>& answers,
                               std::size_t bytes) {
    for (std::size_t i = 0; i < members; ++i) {
      const auto receipt = faulty.store().commit(faulty.own(name_of(i)), turn_of(i, bytes));
      ASSERT_TRUE(receipt) << receipt.error().message;
      if (answers[i]) {
        EXPECT_EQ(*receipt, *answers[i]);
      }
      EXPECT_EQ(faulty.find_wrong_turn(name_of(i), 1), "");
    }
  }

  // True if the disk was never full.
  bool try_at(std::uint64_t number, std::size_t bytes) {
    FaultyStore faulty;
    const auto answers = commit_on_full_disk(faulty, number, bytes);
    const bool clean = faulty.vfs().failed().empty();
    for (const auto& answer : answers) {
      refused += answer ? 0 : 1;
      undone += !answer && answer.error().code == ErrorCode::unavailable ? 1 : 0;
    }
    faulty.vfs().heal();
    expect_told_the_truth(faulty, answers);
    expect_all_go_on(faulty, answers, bytes);
    faulty.reopen();
    for (std::size_t i = 0; i < members; ++i) {
      EXPECT_EQ(faulty.find_wrong_turn(name_of(i), 1), "");
    }
    EXPECT_EQ(find_damage(faulty.path()), "");
    return clean || HasFailure();
  }

  int refused = 0;
  int undone = 0;  ///< Of those, who knows that nothing is there.
};

TEST_F(FullDisk, InAGroupTellsNobodyYesWhoIsNotThere) {
  std::uint64_t number = 1;
  while (!try_at(number, 3000)) ++number;
  EXPECT_GT(number, 20U);
  EXPECT_GT(refused, static_cast<int>(number));
}

TEST_F(FullDisk, InAGroupTooLargeForMemoryTellsNobodyYesEither) {
  // Three of these do not fit into the writer's cache.
  constexpr std::size_t bytes = 12'000'000;
  for (const std::uint64_t number : {100U, 3000U, 8500U}) try_at(number, bytes);
  EXPECT_GE(refused, 4);
  EXPECT_GE(undone, 3) << "no transaction met the disk before its COMMIT";
}

}  // namespace
}  // namespace perdure
