// upkeep.hpp and open_store made executable.

#include <fstream>

#include "contract/store_contract.hpp"
#include "store/api/lookup.hpp"

namespace perdure {
namespace {

class UpkeepContract : public StoreContract {
 protected:
  Upkeep& upkeep() { return store->upkeep(); }
};

INSTANTIATE_TEST_SUITE_P(EveryBackend, UpkeepContract, testing::ValuesIn(every_form()), name_of);

TEST_P(UpkeepContract, AStoreSaysWhatItIs) {
  const StoreInfo info = store->info();

  EXPECT_EQ(info.backend, GetParam().options.empty() ? GetParam().name : "postgres");
  EXPECT_EQ(info.location, home.location());
  EXPECT_NE(info.engine, "");
  EXPECT_GE(info.format, 1);
  EXPECT_NE(info.incarnation, "");
}

TEST_P(UpkeepContract, EveryStoreHasAnIncarnationOfItsOwn) {
  const StorePlace elsewhere(GetParam());
  const auto another = must(open_store(elsewhere.location(), {.clock = &clock, .ids = &ids}));

  EXPECT_NE(another->info().incarnation, store->info().incarnation);
}

TEST_P(UpkeepContract, ALossTokenIsTheSameAsLongAsNothingIsLostAndAnotherInEveryStore) {
  const StorePlace elsewhere(GetParam());
  const auto another = must(open_store(elsewhere.location(), {.clock = &clock, .ids = &ids}));
  const std::string token = must(store->loss_token());
  EXPECT_NE(token, "");

  const Lease lease = own(create());
  commit(lease, batch_of(lease.session, {message("one")}));

  EXPECT_EQ(must(store->loss_token()), token);
  EXPECT_NE(must(another->loss_token()), token);
}

TEST_P(UpkeepContract, CommitsAreCountedRepeatsAndFailuresAreNot) {
  const Lease lease = own(create());
  const auto before = store->info();
  const Batch made = batch_of(lease.session, {message("one")});

  commit(lease, made);
  commit(lease, made);
  Batch refused = batch_of(lease.session, {message("two")});
  refused.expected_head = 99;
  EXPECT_FALSE(store->commit(lease, refused));

  EXPECT_EQ(store->info().commits, before.commits + 1);
}

TEST_P(UpkeepContract, ACheckOfASoundStoreFindsNothingAndCountsWhatThereIs) {
  const Lease lease = own(create());
  in_state(lease, CallState::in_doubt);
  checkpoint(lease);
  branch(lease, Point::version(1), "another way");
  fork("fork", lease.session, Point::version(1));
  must(store->blobs().put("bytes"));

  const CheckReport report = must(upkeep().check());

  EXPECT_TRUE(report.is_sound());
  EXPECT_EQ(report.sessions, 2U);
  EXPECT_EQ(report.calls, 1U);
  EXPECT_EQ(report.blobs, 1U);
  EXPECT_EQ(report.entries, row(lease.session).next - 1);
}

TEST_P(UpkeepContract, ACheckReadsWhatForksShareOfARemovedSession) {
  const Lease lease = own(create());
  commit(lease, batch_of(lease.session, {message("one"), message("two")}));
  checkpoint(lease);
  commit(lease, batch_of(lease.session, {message("not shared")}));
  const SessionId heir = fork("fork", lease.session, Point::version(1));
  must(store->ownership().release(lease));
  must(store->upkeep().remove(lease.session));

  const CheckReport report = must(upkeep().check());

  EXPECT_TRUE(report.is_sound());
  EXPECT_EQ(report.entries, row(heir).head);
  EXPECT_GT(report.bytes, 0U);
}

TEST_P(UpkeepContract, ACheckThatIsToldToStopSaysThatItIsNotComplete) {
  const CheckReport report = must(upkeep().check([](const Step&) { return false; }));

  EXPECT_FALSE(report.is_complete);
  EXPECT_FALSE(report.is_sound());
}

TEST_P(UpkeepContract, ALoneCommitIsOneTransaction) {
  const Lease lease = own(create());
  for (int i = 0; i < 3; ++i) {
    const Batch made = batch_of(lease.session, {message("one"), message("two")});
    const auto before = store->info();
    commit(lease, made);

    EXPECT_EQ(store->info().transactions, before.transactions + 1);
  }
}

TEST_P(UpkeepContract, RowsHandedOutAreCounted) {
  const Lease lease = own(create());
  Batch made = batch(lease.session);
  for (int i = 0; i < 100; ++i) made.entries.push_back(message("x"));
  commit(lease, made);
  const auto before = store->info();

  EXPECT_EQ(texts(lease.session).size(), 100U);

  const auto read = store->info().rows_read - before.rows_read;
  EXPECT_GE(read, 100U);
  EXPECT_LE(read, 110U) << "each row of the log is read once";
}

TEST_P(UpkeepContract, SyncSucceedsWithAndWithoutAnythingLeft) {
  EXPECT_TRUE(store->sync());
  const Lease lease = own(create());
  Batch made = batch_of(lease.session, {message("one")});
  made.sync = Sync::later;
  commit(lease, made);

  EXPECT_TRUE(store->sync());
  EXPECT_TRUE(store->sync());
}

TEST_P(SurvivingStore, TheIncarnationStaysWhenAStoreIsReopened) {
  const std::string incarnation = store->info().incarnation;
  store.reset();
  store = must(open());

  EXPECT_EQ(store->info().incarnation, incarnation);
}

TEST_P(SurvivingStore, ItsDurabilityIsAsItWasOpened) {
  EXPECT_EQ(store->info().durability, Durability::full);
  store.reset();

  store = must(open({.durability = Durability::process}));

  EXPECT_EQ(store->info().durability, Durability::process);
}

TEST_P(SurvivingStore, IsNotFoundWhenItIsNotThereAndCreateIsOff) {
  const StorePlace empty(GetParam());

  const auto opened = open_store(empty.location(), {.create = false});

  EXPECT_EQ(code_of(opened), ErrorCode::not_found);
  EXPECT_TRUE(empty.is_empty());
  EXPECT_TRUE(open({.create = false})) << "the fixture's own store is there";
}

TEST_P(FileStore, NeedsAFolderThatExists) {
  const auto opened = open_store(folder.file("no/such/folder/store.db"));

  EXPECT_TRUE(code_of(opened) == ErrorCode::not_found || code_of(opened) == ErrorCode::unavailable)
      << describe(code_of(opened));
}

TEST_P(FileStore, IsCorruptedIfTheFileIsNotAStore) {
  const std::string path = folder.file("letter.txt");
  const std::string content(10'000, 'x');
  std::ofstream(path) << content;

  EXPECT_EQ(code_of(open_store(path)), ErrorCode::corrupted);

  std::string after;
  std::getline(std::ifstream(path), after);
  EXPECT_TRUE(after == content) << "somebody else's file is left alone";
}

TEST(OpenStore, APathNeedsNoScheme) {
  const TempFolder folder;
  const auto store = must(open_store(folder.file("store.db")));

  EXPECT_EQ(store->info().backend, "sqlite");
  EXPECT_TRUE(open_store("sqlite:" + folder.file("store.db"), {.create = false}));
}

TEST(OpenStore, AnUnknownSchemeIsRefused) {
  EXPECT_EQ(code_of(open_store("mysql://localhost/x")), ErrorCode::invalid_argument);
}

TEST(OpenStore, EveryMemoryStoreIsAStoreOfItsOwn) {
  const auto one = must(open_store("memory:"));
  const auto two = must(open_store("memory:"));
  must(one->sessions().create({.id = session_id("a")}));

  EXPECT_EQ(code_of(two->sessions().read(session_id("a"))), ErrorCode::not_found);
}

TEST_P(UpkeepContract, TheDoctorSaysWhatThePromisesRestOn) {
  const auto remarks = must(store->doctor());
  ASSERT_FALSE(remarks.empty());
  for (const Remark& remark : remarks) {
    EXPECT_FALSE(remark.topic.empty());
    EXPECT_FALSE(remark.what.empty());
    EXPECT_EQ(remark.advice.empty(), remark.gravity == Gravity::fine) << remark.what;
  }
  // Nothing at all survives where nothing survives the object.
  EXPECT_EQ(remarks.front().topic, "disk");
  EXPECT_EQ(remarks.front().gravity == Gravity::danger, !GetParam().survives());
}

TEST_P(UpkeepContract, TheDoctorWarnsOfAStoreThatDoesNotSync) {
  if (!GetParam().survives()) return;
  store.reset();
  store = must(open({.durability = Durability::process}));
  EXPECT_EQ(must(store->doctor()).front().gravity, Gravity::danger);
}

}  // namespace
}  // namespace perdure
