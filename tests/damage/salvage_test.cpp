// A salvage as a whole: what it carries over, and how its file gets its name.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "doubles/fake_clock.hpp"
#include "doubles/must.hpp"
#include "doubles/part_files.hpp"
#include "doubles/temp_folder.hpp"
#include "perdure/core/id.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/store.hpp"
#include "perdure/store/upkeep.hpp"
#include "sqlite/engine/summing_vfs.hpp"
#include "store/api/limits.hpp"
#include "store/api/lookup.hpp"

namespace perdure {
namespace {

class SalvagedStore : public testing::Test {
 protected:
  std::unique_ptr<Store> open(const std::string& path) {
    OpenOptions options;
    options.clock = &clock;
    return must(open_store(path, options));
  }

  FakeClock clock;
  TempFolder folder;
  const std::string damaged = folder.file("damaged.db");
  const std::string saved = folder.file("saved.db");
};

TEST_F(SalvagedStore, KnowsWhenABlobWasPutAgain) {
  BlobRef ref;
  {
    const auto store = open(damaged);
    ref = must(store->blobs().put("bytes"));
    clock.advance(blob_grace_min);
    must(store->blobs().put("bytes"));
  }
  must(salvage_store(damaged, saved));
  clock.advance(Duration(1));

  const auto store = open(saved);
  EXPECT_EQ(must(store->upkeep().collect_blobs(blob_grace_min)).items, 0U);
  EXPECT_EQ(must(store->blobs().get(ref)), "bytes");
}

TEST_F(SalvagedStore, OfANewerFormatIsRefusedUnlessTheNumberIsDamage) {
  must(open(damaged)->blobs().put("bytes"));
  std::fstream file(damaged, std::ios::binary | std::ios::in | std::ios::out);
  std::string page(sqlite::summed_page_bytes, '\0');
  file.read(page.data(), sqlite::summed_page_bytes);
  page[62] = 9;  // Of the format's number, at 60.
  file.seekp(0).write(page.data(), sqlite::summed_page_bytes).flush();
  EXPECT_TRUE(salvage_store(damaged, saved));

  const sqlite::PageSum sum = sqlite::sum_of_page(page, 1);
  std::ranges::copy(sum, page.end() - sqlite::sum_bytes);
  file.seekp(0).write(page.data(), sqlite::summed_page_bytes).flush();
  const auto newer = salvage_store(damaged, folder.file("newer.db"));

  ASSERT_FALSE(newer);
  EXPECT_EQ(newer.error().code, ErrorCode::unsupported);
  EXPECT_FALSE(std::filesystem::exists(folder.file("newer.db")));
}

TEST_F(SalvagedStore, DoesNotTakeThePlaceOfAFileThatCameMeanwhile) {
  must(open(damaged)->blobs().put("bytes"));
  const auto salvaged = salvage_store(damaged, saved, [&](const Step&) {
    std::ofstream(saved) << "somebody else's";
    return true;
  });

  ASSERT_FALSE(salvaged);
  EXPECT_EQ(salvaged.error().code, ErrorCode::already_exists);
  std::ifstream file(saved);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "somebody else's");
  EXPECT_FALSE(has_parts(saved));
}

TEST_F(SalvagedStore, OfTwoAtOnceOneIsThereAndWhole) {
  must(open(damaged)->blobs().put("bytes"));
  std::optional<bool> second;
  const auto first = salvage_store(damaged, saved, [&](const Step&) {
    if (!second) second = salvage_store(damaged, saved).has_value();
    return true;
  });

  EXPECT_EQ(second, true);
  ASSERT_FALSE(first);
  EXPECT_EQ(first.error().code, ErrorCode::already_exists);
  EXPECT_TRUE(must(open(saved)->upkeep().check()).is_sound());
}

TEST_F(SalvagedStore, IsNotMadeWhereTheLogOfAnotherStoreIsLeft) {
  must(open(damaged)->blobs().put("bytes"));
  std::ofstream(saved + "-wal") << "of another store";

  const auto salvaged = salvage_store(damaged, saved);

  ASSERT_FALSE(salvaged);
  EXPECT_EQ(salvaged.error().code, ErrorCode::already_exists);
  EXPECT_FALSE(std::filesystem::exists(saved));
}

// What a killed backup left may be all that there is.
TEST_F(SalvagedStore, IsSavedFromAFileThatIsCalledLikeAPartOfIt) {
  const std::string part = saved + ".part";
  BlobRef ref;
  {
    const auto store = open(part);
    ref = must(store->blobs().put("bytes"));
  }
  const auto size = std::filesystem::file_size(part);

  must(salvage_store(part, saved));

  EXPECT_EQ(std::filesystem::file_size(part), size);
  EXPECT_EQ(must(open(saved)->blobs().get(ref)), "bytes");
}

/// A session that was about to be removed, with a call that holds a key, and its fork.
class HalfRemoved : public SalvagedStore {
 protected:
  HalfRemoved() {
    const auto store = open(damaged);
    must(store->ownership().enroll({.id = worker, .host = "here", .pid = 1}));
    must(store->sessions().create({.id = gone}));
    const Lease lease = must(store->ownership().acquire(gone, worker));
    for (int i = 0; i < 300; ++i) must(store->commit(lease, next_turn(*store, lease, i)));
    Batch batch = next_turn(*store, lease, 300);
    const Position call = batch.expected_head + 1;
    batch.calls = {Intend{.call = call, .args = call, .tool = "send", .key = key},
                   Dispatch{.call = call},
                   Settle{.call = call, .state = CallState::succeeded, .result = call + 1}};
    must(store->commit(lease, batch));
    must(store->ownership().release(lease));
    NewSession fork{.id = left};
    fork.origin = NewSession::Origin{.session = gone, .at = Point::version(150)};
    must(store->sessions().create(fork));
    seen = must(store->log().read(left, {}));
  }

  static Batch next_turn(Store& store, const Lease& lease, int number) {
    Batch batch;
    batch.id = mint<BatchTag>(random_ids());
    batch.expected_head = must(store.sessions().read(lease.session)).head;
    const Body body = Body::from_bytes("entry " + std::to_string(number));
    batch.entries = {{.channel = "said",
                      .kind = "k",
                      .fold = Fold::append,
                      .body = body,
                      .tally = {.turns = 1},
                      .at = {}},
                     {.channel = "plan",
                      .kind = "k",
                      .fold = Fold::replace,
                      .body = body,
                      .tally = {},
                      .at = {}}};
    batch.checkpoint = NewCheckpoint{.reason = "turn", .label = {}, .metadata = "{}"};
    batch.sync = Sync::later;
    return batch;
  }

  /// Removes it in a copy, but only so many slices; false if that was all.
  bool remove_some(const std::string& copy, int slices) {
    std::filesystem::copy_file(damaged, copy);
    bool was_cut = false;
    must(open(copy)->upkeep().remove(gone, [&](const Step&) {
      was_cut = --slices == 0;
      return !was_cut;
    }));
    return was_cut;
  }

  void expect_removed(Store& store) {
    const auto page = must(store.sessions().list({}));
    ASSERT_EQ(page.sessions.size(), 1U);
    EXPECT_EQ(page.sessions.front().id, left);
    EXPECT_EQ(page.sessions.front().tally.turns, 150);
    for (const Entry& entry : must(store.log().read(left, {}))) {
      EXPECT_EQ(entry.condition, Condition::intact);
    }
    // The plan as it was, and all that was said.
    EXPECT_EQ(must(store.log().find_value(left, "plan", Point::head()))->position, 300U);
    EXPECT_EQ(count_said(must(store.log().read(left, {}))), count_said(seen));
    EXPECT_TRUE(must(store.ledger().find_holder(key)));
    const auto report = must(store.upkeep().check());
    EXPECT_TRUE(report.is_sound()) << report.damage.front().what;
  }

  static std::ptrdiff_t count_said(const std::vector<Entry>& entries) {
    return std::ranges::count(entries, "said", &Entry::channel);
  }

  const SessionId gone = must(SessionId::parse("gone"));
  const SessionId left = must(SessionId::parse("left"));
  const Digest key = sha256("key");
  WorkerId worker = mint<WorkerTag>(random_ids());
  std::vector<Entry> seen;
};

TEST_F(HalfRemoved, StaysRemovedWhenItIsSalvaged) {
  int cuts = 0;
  for (int slices = 1;; ++slices) {
    SCOPED_TRACE(slices);
    const std::string copy = folder.file("copy" + std::to_string(slices));
    const std::string to = folder.file("saved" + std::to_string(slices));
    if (!remove_some(copy, slices)) break;
    ++cuts;

    const auto report = must(salvage_store(copy, to));

    EXPECT_EQ(report.sessions, 1U);
    EXPECT_EQ(report.entries_lost, 0U);
    const auto store = open(to);
    expect_removed(*store);
    must(store->upkeep().vacuum());
    expect_removed(*store);
  }
  EXPECT_GT(cuts, 5);
}

}  // namespace
}  // namespace perdure
