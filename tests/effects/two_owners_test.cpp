// SIGSTOP past the lease, a take-over, SIGCONT: the first owner writes nothing, starts nothing
// that it had not checked before it was stopped, and is told so.

#include <chrono>
#include <cstdint>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <iostream>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "contract/backends.hpp"
#include "crash/child_process.hpp"
#include "effects/play.hpp"
#include "effects/rivals.hpp"

namespace perdure::effects {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

using Case = std::tuple<Backend, Manner>;

std::string text_of(const Case& tested) {
  return fmt::format("{}_{}", std::get<0>(tested).name, to_string(std::get<1>(tested)));
}

class TwoOwners : public testing::TestWithParam<Case> {
 protected:
  [[nodiscard]] static Rivals begin() {
    const auto& [backend, manner] = GetParam();
    return Rivals(manner, backend);
  }

  /// With a server the three manners share the places among them.
  [[nodiscard]] static std::uint64_t first() {
    return stride() == 1 ? 1 : 1 + static_cast<std::uint64_t>(std::get<1>(GetParam()));
  }
  [[nodiscard]] static std::uint64_t stride() {
    return std::get<0>(GetParam()).home == Home::schema ? 3 : 1;
  }

  static void expect_sound(Rivals& rivals, const std::string& where) {
    rivals.trial().judge();
    for (const std::string& complaint : rivals.complaints()) {
      ADD_FAILURE() << "stopped at " << where << ": " << complaint;
    }
  }
};

// Between the last check and the send, between the send and the answer, and after it. Whatever it
// had begun to send lands when the second owner has done all it can without waiting.
TEST_P(TwoOwners, StoppedOnTheWayToTheWorldTheFirstWritesNothingAndNothingHappensTwice) {
  std::uint64_t moment = first();
  for (;; moment += stride()) {
    const std::string where = fmt::format("moment {}", moment);
    Rivals rivals = begin();
    if (!rivals.play_first(where)) {
      EXPECT_THAT(rivals.complaints(), testing::IsEmpty()) << where;
      break;
    }
    rivals.take_over();
    EXPECT_THAT(rivals.wake_first(), StartsWith("failed lease_lost")) << where;
    rivals.finish();
    expect_sound(rivals, where);
    if (HasFailure()) return;
  }
  EXPECT_GT(moment, 20U);
  std::cout << fmt::format("two owners: {}: {} moments\n", text_of(GetParam()),
                           (moment - first()) / stride());
}

// Before its last check it must not even begin: also if its worker has renewed meanwhile.
TEST_P(TwoOwners, StoppedAfterACommitTheFirstStartsNothingMore) {
  for (const bool renews_late : {false, true}) {
    std::string last_words;
    std::uint64_t commit = first();
    for (;; commit += stride()) {
      const std::string where = fmt::format("commit {}", commit);
      Rivals rivals = begin();
      if (!rivals.play_first(where, renews_late)) {
        EXPECT_THAT(rivals.complaints(), testing::IsEmpty()) << where;
        break;
      }
      EXPECT_THAT(last_words, testing::AnyOf("", StartsWith("failed lease_lost"))) << where;
      rivals.take_over();
      rivals.finish();
      const auto before = rivals.effects();
      last_words = rivals.wake_first();
      EXPECT_EQ(rivals.effects(), before) << where << (renews_late ? ", renewed" : "");
      expect_sound(rivals, where);
      if (HasFailure()) return;
    }
    EXPECT_GT(commit, 10U);
    // After its last commit there is nothing left that it could be refused.
    if (stride() == 1) {
      EXPECT_THAT(last_words, StartsWith("done"));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Every, TwoOwners,
                         testing::Combine(testing::ValuesIn(surviving_backends()),
                                          testing::Values(Manner::goes_on, Manner::reissues,
                                                          Manner::rewords)),
                         [](const auto& named) { return text_of(named.param); });

// In the machine's own time, with a thread that renews.
class TwoOwnersInTime : public testing::TestWithParam<Backend> {};

TEST_P(TwoOwnersInTime, ASuccessorWaitsForTheLeaseOfAStoppedProcessAndTakesOver) {
  Rivals rivals(Manner::goes_on, GetParam());
  auto first = rivals.start({.stop = "moment 5", .ahead = "real"});
  while (auto line = first->read_line()) {
    rivals.trial().hear(*line);
    if (*line == "stops") break;
  }
  ASSERT_TRUE(first->wait_until_stopped());

  rivals.take_over({.ahead = "real", .wait = std::chrono::minutes(1)});
  const Portrait taken = rivals.portrait();
  first->go_on();
  const auto words = first->read_to_end();

  ASSERT_FALSE(words.empty());
  EXPECT_THAT(words.back(), StartsWith("failed lease_lost"));
  EXPECT_EQ(rivals.portrait(), taken);
  rivals.finish();
  rivals.trial().judge();
  EXPECT_THAT(rivals.complaints(), testing::IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Every, TwoOwnersInTime, testing::ValuesIn(surviving_backends()),
                         [](const auto& named) { return named.param.name; });

class LivingOwner : public testing::TestWithParam<Backend> {
 protected:
  LivingOwner() { EXPECT_TRUE(rivals.play_first("moment 5")); }

  Rivals rivals{Manner::goes_on, GetParam()};
};

INSTANTIATE_TEST_SUITE_P(Every, LivingOwner, testing::ValuesIn(surviving_backends()),
                         [](const auto& named) { return named.param.name; });

TEST_P(LivingOwner, IsNamedToWhoeverAsks) {
  const auto second = rivals.start({});
  const auto words = second->read_to_end();

  ASSERT_EQ(words.size(), 1U);
  EXPECT_THAT(words[0],
              StartsWith("failed lease_held: session the-session is held by worker wrk_"));
  EXPECT_THAT(words[0], HasSubstr(fmt::format(", process {}, since 2026-01-01T00:00:00.000Z",
                                              rivals.first().pid())));
  rivals.first().kill();
}

TEST_P(LivingOwner, ThatIsKilledIsSucceededAtOnce) {
  const Ending ending = (rivals.first().kill(), rivals.first().wait());
  ASSERT_TRUE(ending.was_killed());

  rivals.take_over({});  // By its clock the lease of the dead one has just begun.
  rivals.finish();

  rivals.trial().judge();
  EXPECT_THAT(rivals.complaints(), testing::IsEmpty());
}

// The lease would last for half a minute yet.
TEST_P(LivingOwner, CanBeWaitedForAndIsSucceededWhenItDies) {
  const auto second = rivals.start({.wait = std::chrono::hours(1)});
  rivals.first().kill();

  std::string last;
  for (const std::string& line : second->read_to_end()) {
    rivals.trial().hear(line);
    last = line;
  }

  EXPECT_THAT(last, testing::AnyOf(StartsWith("waits"), StartsWith("done")));
  rivals.finish();
  rivals.trial().judge();
  EXPECT_THAT(rivals.complaints(), testing::IsEmpty());
}

}  // namespace
}  // namespace perdure::effects
