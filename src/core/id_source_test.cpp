// Fresh ids: order, uniqueness across threads and fork(), and their text.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <set>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "doubles/counting_ids.hpp"
#include "doubles/fake_clock.hpp"
#include "perdure/core/id.hpp"
#include "random_ids.hpp"

namespace perdure {
namespace {

using namespace std::chrono_literals;

std::int64_t ms_of(const RawId& raw) {
  std::int64_t ms = 0;
  for (std::size_t i = 0; i < 6; ++i) ms = ms * 256 + raw[i];
  return ms;
}

std::vector<RawId> take(IdSource& source, std::size_t count) {
  std::vector<RawId> ids(count);
  for (RawId& id : ids) id = source.next();
  return ids;
}

bool is_strictly_ascending(const std::vector<RawId>& ids) {
  return std::ranges::adjacent_find(ids, std::ranges::greater_equal{}) == ids.end();
}

TEST(RandomIds, AnIdIsAUuidOfVersion7WithTheWallTime) {
  const FakeClock clock;
  RandomIds ids(clock);
  const RawId raw = ids.next();
  EXPECT_EQ(raw[6] >> 4, 7);
  EXPECT_EQ(raw[8] >> 6, 2);
  EXPECT_EQ(ms_of(raw), clock.now().time_since_epoch().count());
}

TEST(RandomIds, IdsOfOneMillisecondAscendAlsoWhenTheCounterRunsOver) {
  const FakeClock clock;
  RandomIds ids(clock);
  const auto taken = take(ids, 70'000);
  EXPECT_TRUE(is_strictly_ascending(taken));
  EXPECT_GT(ms_of(taken.back()), ms_of(taken.front()));
}

TEST(RandomIds, AWallClockThatStepsBackDoesNotBreakTheOrder) {
  FakeClock clock;
  RandomIds ids(clock);
  auto taken = take(ids, 3);
  clock.set_wall(clock.now() - 24h);
  taken.push_back(ids.next());
  clock.advance(1ms);
  taken.push_back(ids.next());
  clock.advance(48h);
  taken.push_back(ids.next());
  EXPECT_TRUE(is_strictly_ascending(taken));
  EXPECT_EQ(ms_of(taken.back()), clock.now().time_since_epoch().count());
}

TEST(RandomIds, ATimeBefore1970CountsAs1970) {
  const FakeClock clock(Timestamp(-1h));
  RandomIds ids(clock);
  EXPECT_EQ(ms_of(ids.next()), 0);
  EXPECT_TRUE(is_strictly_ascending(take(ids, 100)));
}

TEST(RandomIds, TwoSourcesAtTheSameTimeDoNotCollide) {
  const FakeClock clock;
  RandomIds one(clock);
  RandomIds other(clock);
  std::set<RawId> all;
  for (int i = 0; i < 5'000; ++i) {
    all.insert(one.next());
    all.insert(other.next());
  }
  EXPECT_EQ(all.size(), 10'000u);
}

TEST(RandomIds, ThreadsShareASourceAndEachSeesItsIdsAscend) {
  constexpr std::size_t per_thread = 5'000;
  std::vector<std::vector<RawId>> taken(4);
  {
    std::vector<std::jthread> threads;
    for (auto& ids : taken) {
      threads.emplace_back([&ids] { ids = take(random_ids(), per_thread); });
    }
  }
  std::set<RawId> all;
  for (const auto& ids : taken) {
    EXPECT_TRUE(is_strictly_ascending(ids));
    all.insert(ids.begin(), ids.end());
  }
  EXPECT_EQ(all.size(), taken.size() * per_thread);
}

TEST(RandomIds, AForkedChildMintsOtherIdsThanItsParent) {
  // At a frozen time, so that nothing but the fresh bits can tell the two apart.
  const FakeClock clock;
  RandomIds ids(clock);
  ASSERT_EQ(take(ids, 10).size(), 10u);
  constexpr std::size_t count = 1'000;
  int ends[2] = {};
  ASSERT_EQ(pipe(ends), 0);

  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    bool ok = true;
    for (const RawId& raw : take(ids, count)) ok = ok && write(ends[1], raw.data(), 16) == 16;
    _exit(ok ? 0 : 1);
  }
  close(ends[1]);
  const auto own = take(ids, count);
  std::set<RawId> all(own.begin(), own.end());
  RawId raw{};
  while (read(ends[0], raw.data(), raw.size()) == 16) all.insert(raw);
  close(ends[0]);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);

  EXPECT_EQ(status, 0);
  EXPECT_EQ(all.size(), 2 * count);
}

TEST(Base32, TheEndsOfTheRangeHaveTheirText) {
  RawId raw{};
  EXPECT_EQ(to_base32(raw), std::string(26, '0'));
  raw[15] = 37;
  EXPECT_EQ(to_base32(raw), std::string(24, '0') + "15");
  raw.fill(0xFF);
  EXPECT_EQ(to_base32(raw), "7" + std::string(25, 'z'));
}

RC_GTEST_PROP(Base32, TextsSortAsTheBytesDo, (RawId a, RawId b)) {
  // Ids that share a beginning are the ones whose order is in danger.
  const auto shared = *rc::gen::inRange<std::ptrdiff_t>(0, 17);
  std::copy_n(a.begin(), shared, b.begin());
  RC_ASSERT((to_base32(a) <=> to_base32(b)) == (a <=> b));
}

TEST(Mint, AMintedIdHasThePrefixOfItsKindAndIsAProperId) {
  const auto session = mint<SessionTag>(random_ids());
  EXPECT_TRUE(session.text().starts_with("ses_"));
  EXPECT_EQ(session.text().size(), 4u + 26u);
  EXPECT_EQ(SessionId::parse(session.text()), session);
  EXPECT_TRUE(mint<WorkerTag>(random_ids()).text().starts_with("wrk_"));
  EXPECT_TRUE(mint<BatchTag>(random_ids()).text().starts_with("bat_"));
  EXPECT_TRUE(mint<MessageTag>(random_ids()).text().starts_with("msg_"));
}

TEST(Mint, CountingIdsAreTheSameInEveryRun) {
  CountingIds ids;
  EXPECT_EQ(mint<SessionTag>(ids).text(), "ses_00000000000000000000000001");
  EXPECT_EQ(mint<SessionTag>(ids).text(), "ses_00000000000000000000000002");
  CountingIds other(1);
  EXPECT_LT(mint<SessionTag>(ids), mint<SessionTag>(other));
}

}  // namespace
}  // namespace perdure
