// Upkeep::backup, and what becomes of a backup that is opened.

#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <iterator>

#include "contract/store_contract.hpp"
#include "doubles/part_files.hpp"
#include "store/api/lookup.hpp"

namespace perdure {
namespace {

using testing::HasSubstr;

class BackupContract : public StoreContract {
 protected:
  [[nodiscard]] std::string copy() const { return folder.file("copy.db"); }
  Result<void> back_up(const Progress& progress = {}) {
    return store->upkeep().backup(copy(), progress);
  }
  std::unique_ptr<Store> restored() {
    return must(open_store(copy(), {.clock = &clock, .ids = &ids}));
  }
};

INSTANTIATE_TEST_SUITE_P(FileBackend, BackupContract, testing::ValuesIn(file_backends()), name_of);

class NoBackupContract : public StoreContract {};

INSTANTIATE_TEST_SUITE_P(FilelessBackend, NoBackupContract, testing::ValuesIn(fileless_backends()),
                         name_of);

TEST_P(NoBackupContract, IsUnsupportedAndLeavesNothing) {
  EXPECT_EQ(code_of(store->upkeep().backup(folder.file("copy.db"))), ErrorCode::unsupported);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

SessionSummary read(Store& store, const SessionId& session) {
  return must(store.sessions().read(session));
}

TEST_P(BackupContract, HoldsTheLogAsItWas) {
  const Lease lease = own(create());
  say(lease, "one");
  const Version version = checkpoint(lease);
  must(back_up());
  say(lease, "after the backup");

  const auto other = restored();

  const auto log = must(other->log().read(lease.session, {}));
  ASSERT_EQ(log.size(), 1U);
  EXPECT_EQ(log.at(0).body.bytes(), "one");
  EXPECT_EQ(must(other->log().read_checkpoint(lease.session, version)).position, 1U);
}

TEST_P(BackupContract, BecomesAStoreOfItsOwn) {
  must(back_up());

  const auto first = restored()->info().incarnation;

  EXPECT_NE(first, store->info().incarnation);
  EXPECT_EQ(restored()->info().incarnation, first) << "from then on it is the same store";
  EXPECT_NE(must(restored()->loss_token()), must(store->loss_token()));
}

TEST_P(BackupContract, UnfinishedSessionsComeUpPausedAndNeedingAttention) {
  const SessionId active = create("active");
  const SessionId waiting = create(
      NewSession{.id = session_id("waiting"), .status = Status::waiting, .wake_at = clock.now()});
  must(back_up());

  const auto other = restored();

  for (const SessionId& session : {active, waiting}) {
    const SessionSummary row = read(*other, session);
    EXPECT_EQ(row.status, Status::paused);
    EXPECT_TRUE(row.needs_attention());
    EXPECT_THAT(row.wait_reason, HasSubstr("backup"));
    EXPECT_EQ(row.wake_at, std::nullopt);
  }
  EXPECT_EQ(must(other->sessions().due(10)).size(), 0U);
  EXPECT_EQ(must(other->sessions().list({.needs_attention = true})).sessions.size(), 2U);
}

TEST_P(BackupContract, AFinishedSessionStaysAsItIs) {
  const SessionId done = create(NewSession{.id = session_id("done"), .status = Status::completed});
  must(back_up());

  const SessionSummary row = read(*restored(), done);

  EXPECT_EQ(row.status, Status::completed);
  EXPECT_FALSE(row.needs_attention());
}

TEST_P(BackupContract, ACommitThatSetsTheStatusEndsTheNeedForAttention) {
  const SessionId session = create();
  must(back_up());
  store = restored();
  enrolled.clear();

  change(own(session), {.status = Status::active});

  EXPECT_FALSE(row(session).needs_attention());
}

TEST_P(BackupContract, NobodyOwnsARestoredSessionAndItsFenceIsHigher) {
  const Lease lease = own(create());
  const auto resource = must(store->lookup().acquire_resource("r", lease.worker));
  must(back_up());
  // The original goes on, and hands the session over a few times.
  must(store->ownership().release(lease));
  for (const char* worker : {"b", "c", "d"}) {
    must(store->ownership().release(own(lease.session, worker)));
  }
  const Fence latest = own(lease.session, "e").fence;

  store = restored();
  enrolled.clear();

  EXPECT_EQ(row(lease.session).holder, std::nullopt);
  EXPECT_EQ(code_of(store->commit(lease, batch(lease.session))), ErrorCode::lease_lost);
  EXPECT_GT(own(lease.session, "new").fence, latest);
  EXPECT_GT(must(store->lookup().acquire_resource("r", worker_id("new"))).fence, resource.fence);
}

TEST_P(BackupContract, TheOriginalGoesOnAsIfNothingHappened) {
  const Lease lease = own(create());
  must(back_up());

  say(lease, "on");

  EXPECT_EQ(row(lease.session).status, Status::active);
  EXPECT_FALSE(row(lease.session).needs_attention());
}

TEST_P(BackupContract, NeverTakesThePlaceOfAFile) {
  must(back_up());

  EXPECT_EQ(code_of(back_up()), ErrorCode::already_exists);
}

TEST_P(BackupContract, CommitsGoOnWhileItIsWritten) {
  const Lease lease = own(create());
  for (int i = 0; i < 40; ++i) {
    commit(lease, batch_of(lease.session, {message(std::string(100'000, 'x'))}));
  }
  std::uint64_t steps = 0;
  must(back_up([&](const Step& step) {
    EXPECT_LE(step.done, step.total);
    ++steps;
    say(lease, "meanwhile");
    return true;
  }));

  EXPECT_GT(steps, 1U);
  EXPECT_EQ(row(lease.session).head, 40 + steps);
  EXPECT_EQ(read(*restored(), lease.session).head, 40U) << "one consistent state";
}

TEST_P(BackupContract, ToldToStopItLeavesNothing) {
  EXPECT_EQ(code_of(back_up([](const Step&) { return false; })), ErrorCode::unavailable);

  EXPECT_FALSE(std::filesystem::exists(copy()));
  EXPECT_FALSE(has_parts(copy()));
}

TEST_P(BackupContract, AFileThatIsCalledLikeAPartOfItStaysWhatItIs) {
  std::ofstream(folder.file("letter")) << "dear";
  std::filesystem::create_symlink("letter", copy() + ".part");
  std::ofstream(copy() + ".part-letter") << "too";

  must(back_up());

  std::ifstream letter(copy() + ".part");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(letter), {}), "dear");
  std::ifstream other(copy() + ".part-letter");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(other), {}), "too");
  (void)restored();
}

TEST_P(BackupContract, AStoreThatIsCalledLikeAPartOfItsBackupGoesOn) {
  const OpenOptions options{.clock = &clock, .ids = &ids};
  const auto part = must(open_store(copy() + ".part", options));
  must(part->sessions().create({.id = session_id("kept")}));

  must(part->upkeep().backup(copy()));

  EXPECT_TRUE(must(part->upkeep().check()).is_sound());
  EXPECT_EQ(read(*part, session_id("kept")).status, Status::active);
  EXPECT_EQ(read(*restored(), session_id("kept")).status, Status::paused);
}

TEST_P(BackupContract, OfTwoAtOnceOneIsThereAndWhole) {
  std::optional<bool> second;
  const auto first = back_up([&](const Step&) {
    if (!second) second = back_up().has_value();
    return true;
  });

  EXPECT_EQ(second, true);
  EXPECT_EQ(code_of(first), ErrorCode::already_exists);
  EXPECT_TRUE(must(restored()->upkeep().check()).is_sound());
  EXPECT_FALSE(has_parts(copy()));
}

TEST_P(BackupContract, BesideTheLogOfAnotherStoreIsRefused) {
  say(own(create()), "in the log");
  must(back_up());
  // As after a kill: the log stays, and the backup takes the place of the file.
  std::filesystem::copy_file(home.file() + "-wal", copy() + "-wal");

  EXPECT_EQ(code_of(open_store(copy(), {.clock = &clock, .ids = &ids})), ErrorCode::corrupted);

  std::filesystem::remove(copy() + "-wal");
  EXPECT_EQ(must(restored()->log().read(session_id("session"), {})).size(), 1U);
}

TEST_P(BackupContract, IsNotMadeWhereTheLogOfAnotherStoreIsLeft) {
  for (const char* end : {"-wal", "-journal"}) {
    std::ofstream(copy() + end) << "of another store";
    EXPECT_EQ(code_of(back_up()), ErrorCode::already_exists) << end;
    EXPECT_FALSE(std::filesystem::exists(copy()));
    EXPECT_EQ(std::filesystem::file_size(copy() + end), 16U);
    std::filesystem::resize_file(copy() + end, 0);
  }

  must(back_up());
  EXPECT_TRUE(must(restored()->upkeep().check()).is_sound());
}

TEST_P(BackupContract, IntoAFolderThatIsNotThereIsUnavailable) {
  EXPECT_EQ(code_of(store->upkeep().backup(folder.file("none/copy.db"))), ErrorCode::unavailable);
}

}  // namespace
}  // namespace perdure
