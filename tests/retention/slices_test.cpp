// Forgetting goes in slices of bounded work, counted; and everybody else goes on between
// them.

#include <algorithm>
#include <atomic>
#include <gtest/gtest.h>
#include <thread>

#include "counted/counted_store.hpp"
#include "doubles/fake_clock.hpp"
#include "doubles/must.hpp"
#include "perdure/store/log.hpp"
#include "store/api/limits.hpp"
#include "store/api/lookup.hpp"

namespace perdure {
namespace {

/// The most that happened between two calls of a progress.
class Largest {
 public:
  explicit Largest(CountedStore& counted) : counted_(counted) { look(); }

  Progress progress() {
    return [this](const Step&) {
      look();
      return true;
    };
  }

  std::uint64_t rows = 0;
  std::uint64_t bytes = 0;
  int slices = 0;

 private:
  void look() {
    const std::uint64_t read = counted_.counters().rows_read;
    const std::uint64_t written = counted_.wal().bytes_written;
    if (slices > 0) {
      rows = std::max(rows, read - rows_before_);
      bytes = std::max(bytes, written - bytes_before_);
    }
    ++slices;
    rows_before_ = read;
    bytes_before_ = written;
  }

  CountedStore& counted_;
  std::uint64_t rows_before_ = 0;
  std::uint64_t bytes_before_ = 0;
};

struct Cost {
  std::uint64_t rows = 0;
  std::uint64_t bytes = 0;
  int slices = 0;
};

Cost cost_of_prune(std::size_t turns) {
  CountedStore counted;
  const Lease lease = counted.open_session("session");
  counted.take_turns(lease, turns, Sync::later);
  Largest largest(counted);
  must(counted.store().upkeep().prune(lease.session, {}, largest.progress()));
  return {largest.rows, largest.bytes, largest.slices};
}

TEST(Slices, OfAPruneDoNotGrowWithTheHistory) {
  const Cost small = cost_of_prune(500);
  const Cost large = cost_of_prune(4000);

  EXPECT_GT(large.slices, 4 * small.slices);
  EXPECT_LE(large.rows, small.rows + 50);
  EXPECT_LE(large.rows, 1500U);
  EXPECT_LE(large.bytes, 4U << 20U);
}

TEST(Slices, OfARemovalDoNotGrowWithTheHistory) {
  CountedStore counted;
  const Lease lease = counted.open_session("session");
  counted.take_turns(lease, 2000, Sync::later);
  must(counted.store().ownership().release(lease));
  Largest largest(counted);

  must(counted.store().upkeep().remove(lease.session, largest.progress()));

  EXPECT_GT(largest.slices, 40);
  EXPECT_LE(largest.rows, 1500U);
  EXPECT_LE(largest.bytes, 4U << 20U);
}

class Meanwhile : public testing::Test {
 protected:
  Meanwhile() : lease(counted.open_session("session")) { counted.take_turns(lease, 300); }

  Store& store() { return counted.store(); }

  std::vector<Entry> at(const SessionId& session, Point point) {
    LogQuery query;
    query.as_of = point;
    return must(store().log().read(session, query));
  }

  /// The plan as of a point, and how much was said.
  std::pair<Position, std::size_t> state(const SessionId& session, Point point) {
    const auto plan = must(store().log().find_value(session, "plan", point));
    const auto entries = at(session, point);
    return {plan.value().position,
            static_cast<std::size_t>(std::ranges::count(entries, "transcript", &Entry::channel))};
  }

  CountedStore counted;
  Lease lease;
};

TEST_F(Meanwhile, AForkMadeBetweenSlicesKeepsWhatItSees) {
  const Point point = Point::position(1300);
  const auto before = state(lease.session, point);
  NewSession fork{.id = must(SessionId::parse("fork"))};
  fork.origin = NewSession::Origin{.session = lease.session, .at = point};
  bool is_made = false;
  int slices = 0;

  must(store().upkeep().prune(lease.session, {}, [&](const Step&) {
    // After the names, and after the first entries.
    if (++slices == 4) is_made = store().sessions().create(fork).has_value();
    return true;
  }));

  ASSERT_TRUE(is_made);
  EXPECT_EQ(state(fork.id, Point::head()), before);
  EXPECT_EQ(must(store().sessions().read(fork.id)).tally.tokens_in, 1300 * 10);
}

TEST_F(Meanwhile, CommitsAndReadsGoOn) {
  int commits = 0;
  must(store().upkeep().prune(lease.session, {}, [&](const Step&) {
    commits += store().commit(lease, counted.next_turn(lease.session)) ? 1 : 0;
    return store().log().read(lease.session, {}).has_value();
  }));

  EXPECT_GT(commits, 5);
  EXPECT_EQ(must(store().sessions().read(lease.session)).version,
            static_cast<Version>(300 + commits));
}

TEST_F(Meanwhile, AReaderNeverSeesAKeptPointChange) {
  const auto before = state(lease.session, Point::version(200));
  std::atomic<bool> is_done = false;
  std::atomic<int> reads = 0;
  std::atomic<int> wrong = 0;
  std::jthread reader([&] {
    do {
      wrong += state(lease.session, Point::version(200)) == before ? 0 : 1;
      ++reads;
    } while (!is_done);
  });
  while (reads == 0) std::this_thread::yield();
  must(store().upkeep().prune(lease.session, {.last = 1, .since = {}, .every = 200}));
  is_done = true;
  reader.join();

  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(state(lease.session, Point::version(200)), before);
}

TEST(Collecting, LeavesABlobThatACommitNamesBetweenSlices) {
  FakeClock clock;
  CountedStore counted(Durability::full, clock);
  const Lease lease = counted.open_session("session");
  std::vector<BlobRef> refs;
  for (int i = 0; i < 600; ++i) {
    refs.push_back(must(counted.store().blobs().put("blob " + std::to_string(i))));
  }
  clock.advance(blob_grace_min + Duration(1));
  Batch naming = counted.next_turn(lease.session);
  naming.entries.front().body = Body::from_blob(refs[400]);
  bool is_named = false;
  bool is_put = false;

  const auto freed = must(counted.store().upkeep().collect_blobs(blob_grace_min, [&](const Step&) {
    if (!is_named) is_named = counted.store().commit(lease, naming).has_value();
    if (!is_put) is_put = counted.store().blobs().put("blob 500").has_value();
    return true;
  }));

  ASSERT_TRUE(is_named && is_put);
  EXPECT_EQ(freed.items, 598U);
  EXPECT_EQ(must(counted.store().blobs().get(refs[400])), "blob 400");
  EXPECT_EQ(must(counted.store().blobs().get(refs[500])), "blob 500");
}

TEST(Collecting, NeverTakesWhatACommitNamed) {
  FakeClock clock;
  CountedStore counted(Durability::process, clock);
  const Lease lease = counted.open_session("session");
  std::atomic<bool> is_done = false;
  std::jthread collector([&] {
    // Time passes for the collector only here, so that some puts are old when it comes.
    while (!is_done) {
      clock.advance(blob_grace_min / 2 + Duration(1));
      must(counted.store().upkeep().collect_blobs(blob_grace_min));
    }
  });
  std::vector<BlobRef> named;
  for (int i = 0; i < 200; ++i) {
    const BlobRef ref = must(counted.store().blobs().put("blob " + std::to_string(i % 20)));
    Batch batch = counted.next_turn(lease.session);
    batch.entries.resize(1);
    batch.entries.front().body = Body::from_blob(ref);
    if (counted.store().commit(lease, batch)) named.push_back(ref);
  }
  is_done = true;
  collector.join();

  ASSERT_FALSE(named.empty());
  for (const BlobRef& ref : named) EXPECT_TRUE(counted.store().blobs().get(ref));
}

}  // namespace
}  // namespace perdure
