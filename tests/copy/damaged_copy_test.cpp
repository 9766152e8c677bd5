// Copies that go wrong without a death: facts that change on their way, sources that are damaged,
// and files that come out of a backup or a salvage in the middle of a move.

#include <atomic>
#include <filesystem>
#include <future>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <variant>

#include "contract/backends.hpp"
#include "copy/household.hpp"
#include "core/api/descriptor.hpp"
#include "doubles/counting_ids.hpp"
#include "doubles/fake_clock.hpp"
#include "doubles/false_store.hpp"
#include "doubles/must.hpp"
#include "perdure/store/store.hpp"
#include "perdure/store/upkeep.hpp"
#include "store/api/bundle.hpp"
#include "store/files/file_lock.hpp"
#include "store/sqlite/engine/connection.hpp"
#include "store/sqlite/engine/lock_file.hpp"

namespace perdure {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

class DamagedCopy : public testing::TestWithParam<Backend> {
 protected:
  DamagedCopy() { furnish(*from, clock, Size::small); }

  std::unique_ptr<Store> open(const std::string& location) {
    return must(open_store(location, {.clock = &clock, .ids = &ids}));
  }

  void expect_refused(const Result<MoveReport>& copied) {
    ASSERT_FALSE(copied);
    EXPECT_EQ(copied.error().code, ErrorCode::corrupted);
    EXPECT_THAT(runnable(*from), SizeIs(9));
    EXPECT_THAT(runnable(*to), IsEmpty());
    EXPECT_EQ(must(to->upkeep().check()).entries, 0U);
  }

  StorePlace from_place{GetParam()};
  StorePlace to_place{GetParam()};
  FakeClock clock;
  CountingIds ids;
  std::unique_ptr<Store> from = open(from_place.location());
  std::unique_ptr<Store> to = open(to_place.location());
};

INSTANTIATE_TEST_SUITE_P(EveryBackend, DamagedCopy, testing::ValuesIn(every_backend()),
                         [](const auto& tested) { return tested.param.name; });

TEST_P(DamagedCopy, OfATargetThatKeepsSomethingElseIsRefused) {
  FalseStore target(*to);
  target.on_take([](Fact& fact) {
    auto* checkpoint = std::get_if<CheckpointFact>(&fact);
    if (checkpoint != nullptr && checkpoint->checkpoint.label == "first") {
      checkpoint->checkpoint.label = "last";
    }
  });

  expect_refused(move_sessions(*from, target));
}

// Both stores then hold the same, and only the chain knows better.
TEST_P(DamagedCopy, OfASourceThatGivesSomethingElseIsRefused) {
  FalseStore source(*from);
  source.on_read([](Fact& fact) {
    auto* entry = std::get_if<Entry>(&fact);
    if (entry != nullptr && entry->channel == "plan") entry->tally.steps += 1;
  });

  expect_refused(move_sessions(source, *to));
}

TEST_P(DamagedCopy, OfAReceiptThatIsNotItsSessionsIsRefused) {
  FalseStore source(*from);
  source.on_read([](Fact& fact) {
    auto* receipt = std::get_if<ReceiptFact>(&fact);
    if (receipt != nullptr && receipt->receipt.batch.text() == "b2") ++receipt->receipt.chain[7];
  });

  expect_refused(move_sessions(source, *to));
}

class DamagedFile : public DamagedCopy {
 protected:
  void execute(const std::string& path, const std::string& statement) {
    std::atomic<std::uint64_t> rows = 0;
    sqlite::Connection db(path, "", SQLITE_OPEN_READWRITE, &rows);
    db.execute(statement);
  }

  /// The facts are there, and the source is marked, as after a death.
  void mark_and_die() {
    FalseStore target(*to);
    target.fail_to_release();
    ASSERT_FALSE(move_sessions(*from, target));
    ASSERT_THAT(runnable(*from), IsEmpty());
  }

  /// The facts are there, and the source is not marked, as after a death.
  void die_halfway() {
    FalseStore source(*from);
    source.before_mark([] { throw std::runtime_error("killed"); });
    EXPECT_THROW((void)move_sessions(source, *to), std::runtime_error);
  }
};

INSTANTIATE_TEST_SUITE_P(Files, DamagedFile, testing::ValuesIn(file_backends()),
                         [](const auto& tested) { return tested.param.name; });

TEST_P(DamagedFile, IsRefusedOrCopiedAsItIs) {
  from.reset();
  execute(from_place.file(),
          "UPDATE entry SET body = '{\"text\": \"forged\"}' WHERE id & 0xFFFFFFFF = "
          "1 AND channel = 'transcript' AND body LIKE '%hello%'");
  from = open(from_place.location());
  const auto refused = move_sessions(*from, *to);
  expect_refused(refused);
  EXPECT_EQ(refused.error().subject, "main");

  const MoveReport report = must(move_sessions(*from, *to, {.with_damage = true}));

  EXPECT_EQ(report.damaged, 1U);
  EXPECT_EQ(portrait(*to), portrait(*from));
  const auto entries = must(to->log().read(must(SessionId::parse("main")), {}));
  EXPECT_EQ(entries.front().condition, Condition::damaged);
}

// Nobody knows what became of the move: its sessions are here, and need somebody to look at them.
TEST_P(DamagedFile, ABackupOfTheSourceIsNotMoving) {
  die_halfway();
  const std::string copy = from_place.file() + ".backup";
  must(from->upkeep().backup(copy));

  const auto restored = open(copy);

  EXPECT_THAT(runnable(*restored), SizeIs(9));
  EXPECT_TRUE(must(restored->sessions().read(must(SessionId::parse("main")))).restored);
  EXPECT_TRUE(must(restored->upkeep().check()).is_sound());
  must(move_sessions(*from, *to));
  EXPECT_THAT(runnable(*to), SizeIs(9));
}

TEST_P(DamagedFile, ABackupOfTheTargetRunsNothingOfTheMove) {
  die_halfway();
  const std::string copy = to_place.file() + ".backup";
  must(to->upkeep().backup(copy));

  const auto restored = open(copy);

  EXPECT_THAT(runnable(*restored), IsEmpty());
  must(restored->upkeep().vacuum());
  const auto report = must(restored->upkeep().check());
  EXPECT_TRUE(report.is_sound());
  must(abandon_move(*from, *restored));
  EXPECT_FALSE(must(restored->ledger().find_holder(sha256("key of calls succeeded"))));
  must(move_sessions(*from, *to));
  EXPECT_THAT(runnable(*to), SizeIs(9));
}

// The sessions are nowhere else.
TEST_P(DamagedFile, WhatWasMarkedIsReleasedInARestoredTarget) {
  FalseStore target(*to);
  target.fail_to_release();
  ASSERT_FALSE(move_sessions(*from, target));
  const std::string copy = to_place.file() + ".backup";
  must(to->upkeep().backup(copy));
  const auto restored = open(copy);
  EXPECT_THAT(runnable(*from), IsEmpty());

  EXPECT_EQ(must(move_sessions(*from, *restored)).sessions, 9U);

  const SessionSummary main = must(restored->sessions().read(must(SessionId::parse("main"))));
  EXPECT_TRUE(main.restored);
  EXPECT_EQ(main.status, Status::paused);
  EXPECT_TRUE(must(restored->upkeep().check()).is_sound());
}

TEST_P(DamagedFile, WhatWasMarkedIsReleasedForARestoredSource) {
  mark_and_die();
  const std::string copy = from_place.file() + ".backup";
  must(from->upkeep().backup(copy));

  EXPECT_EQ(must(move_sessions(*open(copy), *to)).sessions, 9U);

  EXPECT_THAT(runnable(*to), SizeIs(9));
  EXPECT_TRUE(must(to->upkeep().check()).is_sound());
}

TEST_P(DamagedFile, WhatWasMarkedIsReleasedForASalvagedSource) {
  mark_and_die();
  from.reset();
  const std::string left = from_place.file() + ".left";
  must(salvage_store(from_place.file(), left));

  EXPECT_EQ(must(move_sessions(*open(left), *to)).sessions, 9U);

  EXPECT_THAT(runnable(*to), SizeIs(9));
}

TEST_P(DamagedFile, AnEraseThatAMoveOvertakesIsRefused) {
  const std::string lock_path = from_place.file() + "-lock";
  sqlite::LockFile turn = must(sqlite::LockFile::open(lock_path));
  const Descriptor watcher = must(sqlite::open_file(lock_path));
  const SessionId main = must(SessionId::parse("main"));
  must(turn.take_turn(Duration(0)));
  auto erased = std::async(std::launch::async, [&] { return from->upkeep().erase(main, {1}); });
  while (!sqlite::is_locked_elsewhere(watcher, sqlite::door_byte)) std::this_thread::yield();
  execute(from_place.file(), "UPDATE session SET moved = 'sto_there there' WHERE id = 'main'");
  turn.end_turn();

  EXPECT_EQ(erased.get().error().code, ErrorCode::conflict);

  EXPECT_EQ(must(from->log().read(main, {})).front().condition, Condition::intact);
}

// Another store's arrival is none of ours: its mover may still mark it.
TEST_P(DamagedFile, WhatAnotherSourceDidNotMarkIsLeftAlone) {
  die_halfway();
  const std::string copy = from_place.file() + ".backup";
  must(from->upkeep().backup(copy));
  const auto restored = open(copy);

  must(abandon_move(*restored, *to));
  EXPECT_EQ(move_sessions(*restored, *to).error().code, ErrorCode::already_exists);

  must(move_sessions(*from, *to));
  EXPECT_THAT(runnable(*to), SizeIs(9));
}

// The salvage dropped what was arriving, and the source cannot run it again: that is said.
TEST_P(DamagedFile, WhatASalvagedTargetLostIsNamedAndCanStillBeRead) {
  mark_and_die();
  const std::string place = to->info().location;
  to.reset();
  const std::string half = to_place.file() + ".half";
  must(salvage_store(to_place.file(), half));
  const SessionId main = must(SessionId::parse("main"));

  const auto moved = move_sessions(*from, *open(half), {.sessions = {main}, .place = place});

  ASSERT_FALSE(moved);
  EXPECT_EQ(moved.error().code, ErrorCode::not_found);
  EXPECT_EQ(moved.error().subject, "main");
  EXPECT_THAT(moved.error().message, testing::HasSubstr("perdure show main"));
  EXPECT_FALSE(must(from->log().read(main, {})).empty());
}

TEST_P(DamagedFile, AnImportThatWasNotReleasedHoldsNothingInARestoredStore) {
  const std::string bundle = from_place.file() + ".bundle";
  must(export_sessions(*from, bundle));
  FalseStore target(*to);
  target.fail_to_release();
  ASSERT_FALSE(import_bundle(target, bundle));
  const std::string copy = to_place.file() + ".backup";
  must(to->upkeep().backup(copy));

  const auto restored = open(copy);

  must(restored->sessions().create({.id = must(SessionId::parse("main"))}));
  EXPECT_TRUE(must(restored->upkeep().check()).is_sound());
  must(restored->upkeep().vacuum());
  EXPECT_TRUE(must(restored->upkeep().check()).is_sound());
}

TEST_P(DamagedFile, ASalvageKnowsWhatWentAndNotWhatWasOnItsWay) {
  die_halfway();
  to.reset();
  const std::string half = to_place.file() + ".half";
  must(salvage_store(to_place.file(), half));
  EXPECT_THAT(runnable(*open(half)), IsEmpty());

  to = open(to_place.location());
  must(move_sessions(*from, *to));
  from.reset();
  const std::string left = from_place.file() + ".left";
  must(salvage_store(from_place.file(), left));
  const auto salvaged = open(left);
  EXPECT_THAT(runnable(*salvaged), IsEmpty());
  EXPECT_EQ(must(salvaged->sessions().read(must(SessionId::parse("main")))).moved_to,
            to->info().location);
}

}  // namespace
}  // namespace perdure
