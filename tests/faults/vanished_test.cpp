// The store's file is deleted or replaced under an open store: what is written to it then
// is lost, so it must not be acknowledged.

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <string>

#include "faults/faulty_store.hpp"
#include "perdure/store/store.hpp"

namespace perdure {
namespace {

class Vanished : public testing::Test {
 protected:
  Result<Receipt> take_turn(Version number) {
    return faulty.store().commit(lease, FaultyStore::turn("s", number));
  }
  void expect_closed() {
    const auto answer = take_turn(2);
    ASSERT_FALSE(answer) << "acknowledged, and lost";
    EXPECT_EQ(answer.error().code, ErrorCode::closed) << answer.error().message;
  }
  void move(const std::string& from, const std::string& to) {
    for (const char* end : {"", "-wal", "-lock"}) {
      if (std::filesystem::exists(from + end)) std::filesystem::rename(from + end, to + end);
    }
  }

  FaultyStore faulty;
  const Lease lease = faulty.own("s");
  const bool begun = take_turn(1).has_value();
  const std::string elsewhere = faulty.folder().file("elsewhere.db");
};

TEST_F(Vanished, ADeletedFileTakesNoMoreWrites) {
  ASSERT_TRUE(begun);
  std::filesystem::remove(faulty.path());
  expect_closed();
}

TEST_F(Vanished, AReplacedFileTakesNoMoreWritesOfOurs) {
  ASSERT_TRUE(begun);
  move(faulty.path(), elsewhere);
  ASSERT_TRUE(faulty.open_again());  // A new store has its name.
  expect_closed();
}

TEST_F(Vanished, ADeletedLogTakesNoMoreWrites) {
  ASSERT_TRUE(begun);
  std::filesystem::remove(faulty.path() + "-wal");
  expect_closed();
}

TEST_F(Vanished, AReplacedLogTakesNoMoreWrites) {
  ASSERT_TRUE(begun);
  std::filesystem::rename(faulty.path() + "-wal", elsewhere);
  std::filesystem::copy_file(elsewhere, faulty.path() + "-wal");
  expect_closed();
}

// Whoever has it open still has it, until it is killed: as the copy shows.
TEST_F(Vanished, WhatADeletedLogHeldIsWrittenBackAtOnce) {
  ASSERT_TRUE(begun);
  std::filesystem::remove(faulty.path() + "-wal");
  expect_closed();
  std::filesystem::copy_file(faulty.path(), elsewhere);
  const auto left = open_store(elsewhere);
  ASSERT_TRUE(left);
  EXPECT_EQ((*left)->log().read(lease.session, {}).value().size(), 1U);
  EXPECT_TRUE((*left)->upkeep().check().value().is_sound());

  faulty.reopen();
  EXPECT_EQ(faulty.find_wrong_turn("s", 1), "");
  EXPECT_TRUE(faulty.store().upkeep().check().value().is_sound()) << "taken for lost";
  EXPECT_TRUE(faulty.store().commit(faulty.own("s"), FaultyStore::turn("s", 2)));
}

TEST_F(Vanished, WhatADeletedLogHeldIsWrittenBackAlsoIfAReaderMadeAnEmptyOne) {
  ASSERT_TRUE(begun);
  std::filesystem::remove(faulty.path() + "-wal");
  std::ofstream(faulty.path() + "-wal").close();
  expect_closed();
  faulty.reopen();
  EXPECT_EQ(faulty.find_wrong_turn("s", 1), "");
  EXPECT_TRUE(faulty.store().upkeep().check().value().is_sound()) << "taken for lost";
}

TEST_F(Vanished, WhatADeletedLogHeldIsWrittenBackAtTheEndAtTheLatest) {
  ASSERT_TRUE(begun);
  std::filesystem::remove(faulty.path() + "-wal");
  faulty.reopen();
  EXPECT_EQ(faulty.find_wrong_turn("s", 1), "");
  EXPECT_TRUE(faulty.store().upkeep().check().value().is_sound()) << "taken for lost";
}

// Its frames are not those that the index names.
TEST_F(Vanished, AReplacedLogIsNotWrittenBack) {
  ASSERT_TRUE(begun);
  std::filesystem::rename(faulty.path() + "-wal", elsewhere);
  std::ofstream(faulty.path() + "-wal") << "another log";
  const auto bytes = [&] {
    std::ifstream file(faulty.path(), std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  const std::string before = bytes();
  expect_closed();
  EXPECT_TRUE(bytes() == before);
}

TEST_F(Vanished, ALogPutBackIsGoneOnWithByOpeningAgain) {
  ASSERT_TRUE(begun);
  std::filesystem::rename(faulty.path() + "-wal", elsewhere);
  expect_closed();
  std::filesystem::rename(elsewhere, faulty.path() + "-wal");
  faulty.reopen();
  EXPECT_EQ(faulty.find_wrong_turn("s", 1), "");
  ASSERT_TRUE(faulty.store().commit(faulty.own("s"), FaultyStore::turn("s", 2)));
}

// SQLite's own ways with its log are no reason to close.
TEST_F(Vanished, ALogThatIsWrittenBackEmptiedOrLeftByOthersGoesOn) {
  ASSERT_TRUE(begun);
  {
    const auto other = faulty.open_again();  // It writes back when it closes, and is not the last.
    ASSERT_TRUE(other);
  }
  ASSERT_TRUE(take_turn(2));
  ASSERT_TRUE(faulty.store().upkeep().vacuum());
  for (Version number = 3; number < 300; ++number) ASSERT_TRUE(take_turn(number)) << number;
  EXPECT_EQ(faulty.find_wrong_turn("s", 299), "");
}

TEST_F(Vanished, AFilePutBackIsGoneOnWithByOpeningAgain) {
  ASSERT_TRUE(begun);
  move(faulty.path(), elsewhere);
  expect_closed();

  move(elsewhere, faulty.path());
  expect_closed();
  faulty.reopen();

  EXPECT_EQ(faulty.find_wrong_turn("s", 1), "");
  ASSERT_TRUE(faulty.store().commit(faulty.own("s"), FaultyStore::turn("s", 2)));
  EXPECT_EQ(faulty.find_wrong_turn("s", 2), "");
}

TEST_F(Vanished, AStoreDeletedWithAllItsFilesCanBeMadeAnew) {
  ASSERT_TRUE(begun);
  for (const char* end : {"", "-wal", "-shm", "-lock"}) {
    std::filesystem::remove(faulty.path() + end);
  }
  expect_closed();

  faulty.reopen();

  const auto session = faulty.store().sessions().read(lease.session);
  ASSERT_FALSE(session);
  EXPECT_EQ(session.error().code, ErrorCode::not_found);
  EXPECT_TRUE(faulty.store().commit(faulty.own("s"), FaultyStore::turn("s", 1)));
}

}  // namespace
}  // namespace perdure
