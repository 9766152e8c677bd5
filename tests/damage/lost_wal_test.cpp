// A WAL that lacks acknowledged commits is found when the store is opened, and named; and
// nothing is said where nothing was lost. Files copied while the store is open are what a
// killed process leaves.

#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <string>

#include "doubles/fake_clock.hpp"
#include "doubles/temp_folder.hpp"
#include "doubles/wal_frames.hpp"
#include "perdure/store/store.hpp"
#include "perdure/store/upkeep.hpp"
#include "store/api/lookup.hpp"
#include "store/sqlite/engine/connection.hpp"
#include "store/sqlite/engine/lock_file.hpp"

namespace perdure {
namespace {

namespace fs = std::filesystem;

class LostWal : public testing::Test {
 protected:
  LostWal() { open(); }

  void open(Durability durability = Durability::full) {
    store = open_store(path, {.durability = durability}).value();
    const auto worker = WorkerId::parse(fmt::format("worker {}", ++opened)).value();
    EXPECT_TRUE(store->ownership().enroll({.id = worker, .host = "here", .pid = 1}));
    (void)store->sessions().create({.id = session});
    lease = store->ownership().acquire(session, worker).value();
  }

  void commit(Sync sync = Sync::now, std::size_t bytes = 100) {
    Batch batch;
    batch.id = mint<BatchTag>(random_ids());
    batch.expected_head = store->sessions().read(session)->head;
    batch.entries = {{.channel = "transcript",
                      .kind = "message",
                      .fold = Fold::append,
                      .body = Body::from_text(Json(std::string(bytes, 'x')).text()),
                      .tally = {.tokens_in = 10},
                      .at = {}}};
    batch.sync = sync;
    ASSERT_TRUE(store->commit(lease, batch));
  }

  // What is left if every process is killed now.
  std::string kill() {
    const std::string left = folder.file(fmt::format("left {}.db", ++killed));
    for (const char* end : {"", "-wal", "-lock"}) fs::copy_file(path + end, left + end);
    return left;
  }

  static void cut_wal(const std::string& of) {
    fs::resize_file(of + "-wal", wal_header_bytes + wal_frame_bytes);
  }

  static void start_machine_anew(const std::string& of) {
    auto lock_file = sqlite::LockFile::open(of + "-lock").value();
    sqlite::WalRecord record = lock_file.read_record();
    ASSERT_GT(record.frames, 0U);
    ++record.boot;
    record.seal();
    lock_file.keep(record);
  }

  // What the check says of the WAL; empty if nothing.
  static std::string named(Store& opened_store) {
    const auto report = opened_store.upkeep().check().value();
    for (const Damage& damage : report.damage) {
      if (damage.what.find("the WAL lacks commits") != std::string::npos) return damage.what;
    }
    EXPECT_TRUE(report.is_sound());
    return {};
  }
  static std::string named(const std::string& at) {
    return named(*open_store(at, {.create = false}).value());
  }

  const TempFolder folder = TempFolder::in_memory();
  const std::string path = folder.file("store.db");
  const SessionId session = SessionId::parse("s").value();
  int opened = 0;
  int killed = 0;
  std::unique_ptr<Store> store;
  Lease lease;
};

TEST_F(LostWal, IsNamedWhenItIsDeleted) {
  store.reset();
  open();
  commit();
  const std::string left = kill();
  fs::remove(left + "-wal");

  FakeClock clock;
  OpenOptions options;
  options.clock = &clock;
  auto opened_store = open_store(left, options).value();

  EXPECT_EQ(named(*opened_store),
            fmt::format("the WAL lacks commits that were acknowledged: it was deleted, cut or "
                        "damaged before {}; the store is at an earlier moment",
                        to_iso8601(clock.now())));
}

TEST_F(LostWal, IsNamedWhenItIsCut) {
  store.reset();
  open();
  commit();
  const std::string left = kill();
  cut_wal(left);
  EXPECT_NE(named(left), "");
}

TEST_F(LostWal, IsNamedWhenTheStoreWasNeverWrittenBack) {
  commit();
  const std::string left = kill();
  fs::remove(left + "-wal");
  EXPECT_NE(named(left), "");
}

TEST_F(LostWal, MakesTheStoreOneOfItsOwnWithPausedSessions) {
  commit();
  store.reset();
  open();
  const std::string before = store->info().incarnation;
  commit();
  const std::string left = kill();
  fs::remove(left + "-wal");

  auto after = open_store(left).value();

  EXPECT_NE(after->info().incarnation, before);
  const auto found = after->sessions().read(session);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->status, Status::paused);
  EXPECT_TRUE(found->needs_attention());
  EXPECT_EQ(after->log().read(session, {})->size(), 1U);
}

TEST_F(LostWal, IsNamedAsLongAsTheStoreLivesAndHappensOnce) {
  commit();
  const std::string left = kill();
  fs::remove(left + "-wal");
  std::string incarnation;
  {
    auto first = open_store(left).value();
    incarnation = first->info().incarnation;
  }

  auto second = open_store(left).value();

  EXPECT_EQ(second->info().incarnation, incarnation);
  EXPECT_NE(named(*second), "");
}

TEST_F(LostWal, IsNotSaidOfWhatWasSalvaged) {
  store.reset();
  open();
  commit();
  const std::string left = kill();
  fs::remove(left + "-wal");
  ASSERT_NE(named(left), "");

  ASSERT_TRUE(salvage_store(left, folder.file("salvaged.db")));

  EXPECT_EQ(named(folder.file("salvaged.db")), "");
}

TEST_F(LostWal, IsNotSaidAfterAKillThatLeftAllInPlace) {
  commit();
  commit(Sync::later);
  EXPECT_EQ(named(kill()), "");
}

TEST_F(LostWal, IsNotSaidAfterAProperClose) {
  commit();
  store.reset();
  ASSERT_FALSE(fs::exists(path + "-wal"));
  EXPECT_EQ(named(path), "");
}

TEST_F(LostWal, IsNotSaidWithoutTheLockFile) {
  commit();
  const std::string left = kill();
  fs::remove(left + "-wal");
  fs::remove(left + "-lock");
  EXPECT_EQ(named(left), "");
}

TEST_F(LostWal, IsNotSaidByARecordThatIsCutOrChanged) {
  commit();
  const std::string cut = kill();
  fs::remove(cut + "-wal");
  fs::resize_file(cut + "-lock", 40);
  EXPECT_EQ(named(cut), "");

  const std::string changed = kill();
  fs::remove(changed + "-wal");
  std::fstream file(changed + "-lock", std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(33);
  file.put('\x7F');
  file.close();
  EXPECT_EQ(named(changed), "");
}

// SQLite itself writes the WAL back and deletes it when the last connection closes.
TEST_F(LostWal, IsNotSaidAfterAnotherProgramWroteItBack) {
  commit();
  const std::string left = kill();
  {
    std::atomic<std::uint64_t> rows_read = 0;
    sqlite::Connection shell(left, "", SQLITE_OPEN_READWRITE, &rows_read);
    shell.execute("SELECT count(*) FROM session");
  }
  ASSERT_FALSE(fs::exists(left + "-wal"));
  EXPECT_EQ(named(left), "");
}

TEST_F(LostWal, IsNotSaidOfABackupPutInItsPlace) {
  commit();
  ASSERT_TRUE(store->upkeep().backup(folder.file("backup")));
  commit();
  const std::string left = kill();
  fs::remove(left + "-wal");
  fs::copy_file(folder.file("backup"), left, fs::copy_options::overwrite_existing);
  EXPECT_EQ(named(left), "");
}

TEST_F(LostWal, IsNotSaidOfANewStoreBesideALockFileThatKnowsNone) {
  commit();
  const std::string left = kill();
  fs::remove(left + "-wal");
  fs::resize_file(left, 0);
  fs::resize_file(left + "-lock", 24);
  EXPECT_EQ(named(*open_store(left).value()), "");
}

TEST_F(LostWal, IsNamedBeyondWhatACheckpointWroteBack) {
  // Readers hold the checkpoint back: half of the frames are in the file, and half are not.
  std::atomic<std::uint64_t> rows_read = 0;
  commit(Sync::now, 2'000'000);
  sqlite::Connection reader(path, "", SQLITE_OPEN_READWRITE, &rows_read);
  reader.execute("BEGIN; SELECT count(*) FROM session;");
  commit(Sync::now, 3'000'000);
  const std::string left = kill();
  ASSERT_GT(fs::file_size(left), 1'000'000U) << "no checkpoint";
  ASSERT_LT(fs::file_size(left), 3'000'000U) << "nothing held it back";
  EXPECT_EQ(named(left), "");
  const std::string cut = kill();
  fs::resize_file(cut + "-wal", frames_end_of(cut) - wal_frame_bytes);
  EXPECT_NE(named(cut), "");
  reader.execute("COMMIT");
}

TEST_F(LostWal, IsNotSaidOfFramesThatWereWrittenBack) {
  // The last of them is more than a checkpoint waits for.
  commit(Sync::now, 5'000'000);
  const std::string left = kill();
  fs::remove(left + "-wal");
  EXPECT_EQ(named(left), "");
  EXPECT_EQ(open_store(left).value()->log().read(session, {})->size(), 1U);
}

TEST_F(LostWal, OfAnotherBootNeedsOnlyWhatWasSynced) {
  commit();
  const auto synced = frames_end_of(path);
  commit(Sync::later);
  const std::string unsynced = kill();
  start_machine_anew(unsynced);
  fs::resize_file(unsynced + "-wal", synced);
  EXPECT_EQ(named(unsynced), "");

  const std::string lost = kill();
  start_machine_anew(lost);
  fs::resize_file(lost + "-wal", synced - wal_frame_bytes);
  EXPECT_NE(named(lost), "");

  const std::string same_boot = kill();
  fs::resize_file(same_boot + "-wal", synced);
  EXPECT_NE(named(same_boot), "");
}

TEST_F(LostWal, OfAnotherBootDoesNotTakeForSyncedWhatACommitWithoutFramesFollowed) {
  const InboxMessage message{.session = session,
                             .id = MessageId::parse("m").value(),
                             .kind = "user",
                             .body = Body::from_text("{}")};
  ASSERT_TRUE(store->inbox().post(message));
  commit();
  const auto synced = frames_end_of(path);
  commit(Sync::later);
  const auto all = frames_end_of(path);
  ASSERT_TRUE(store->inbox().post(message));
  ASSERT_EQ(frames_end_of(path), all) << "a repeat writes nothing";
  const std::string left = kill();
  start_machine_anew(left);
  fs::resize_file(left + "-wal", synced);
  EXPECT_EQ(named(left), "");
}

TEST_F(LostWal, OfAnotherBootNeedsNothingThatIsKeptForTheProcessOnly) {
  commit();
  store.reset();
  open(Durability::process);
  commit();
  const std::string left = kill();
  start_machine_anew(left);
  fs::remove(left + "-wal");
  EXPECT_EQ(named(left), "");

  const std::string same_boot = kill();
  fs::remove(same_boot + "-wal");
  EXPECT_NE(named(same_boot), "");
}

TEST_F(LostWal, IsNamedWhenTheRecordIsOlderThanTheOpening) {
  commit();
  const std::string left = kill();
  {
    EXPECT_EQ(named(left), "");
  }
  // The next one only opens it, and is killed.
  const std::string again = kill();
  auto idle = open_store(again).value();
  const std::string copy = folder.file("copy.db");
  for (const char* end : {"", "-wal", "-lock"}) fs::copy_file(again + end, copy + end);
  fs::remove(copy + "-wal");
  EXPECT_NE(named(copy), "");
}

class LostFile : public LostWal {
 protected:
  static void lose(const std::string& file, bool is_emptied) {
    is_emptied ? fs::resize_file(file, 0) : static_cast<void>(fs::remove(file));
  }

  // Refused, and all as it was.
  static std::string refused(const std::string& at, bool creates) {
    const bool was_there = fs::exists(at);
    const auto opened_store = open_store(at, {.create = creates});
    EXPECT_FALSE(opened_store);
    if (opened_store) return {};
    EXPECT_EQ(opened_store.error().code, ErrorCode::corrupted);
    EXPECT_EQ(fs::exists(at), was_there);
    EXPECT_TRUE(!was_there || fs::is_empty(at));
    return opened_store.error().message;
  }
};

TEST_F(LostFile, BesideItsWalIsSaidAndNotMadeAnewAndSavedFromIt) {
  commit();
  for (const bool is_emptied : {true, false}) {
    const std::string left = kill();
    const auto wal_bytes = fs::file_size(left + "-wal");
    lose(left, is_emptied);
    for (const bool has_lock : {true, false}) {
      if (!has_lock) fs::remove(left + "-lock");
      for (const bool creates : {true, false}) {
        EXPECT_NE(refused(left, creates).find("perdure salvage"), std::string::npos);
      }
    }
    EXPECT_EQ(fs::file_size(left + "-wal"), wal_bytes);

    const std::string saved = left + ".saved";
    ASSERT_TRUE(salvage_store(left, saved));
    EXPECT_EQ(open_store(saved).value()->log().read(session, {})->size(), 1U);
  }
}

TEST_F(LostFile, ThatWasClosedProperlyIsSaidAndNotMadeAnew) {
  commit();
  store.reset();
  for (const bool is_emptied : {true, false}) {
    lose(path, is_emptied);
    for (const bool creates : {true, false}) {
      EXPECT_NE(refused(path, creates).find("remove that"), std::string::npos);
    }
  }
  fs::remove(path + "-lock");
  EXPECT_TRUE(open_store(path));
}

TEST_F(LostFile, MayBeReplacedByABackup) {
  commit();
  ASSERT_TRUE(store->upkeep().backup(folder.file("backup")));
  store.reset();
  fs::remove(path);
  fs::copy_file(folder.file("backup"), path);
  EXPECT_EQ(named(path), "");
}

}  // namespace
}  // namespace perdure
