// Who copies dies at its Nth write to either file, N = 1 until it finishes. At no moment can a
// session be run in both stores; afterwards the copy is finished or abandoned, in turns, and every
// session can be run in exactly one of them and is what it was.

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <memory>
#include <string>

#include "copy/household.hpp"
#include "crash/child_process.hpp"
#include "crash/stored_file.hpp"
#include "doubles/counting_vfs.hpp"
#include "doubles/difference.hpp"
#include "doubles/fake_clock.hpp"
#include "doubles/must.hpp"
#include "doubles/temp_folder.hpp"
#include "perdure/store/copy.hpp"
#include "perdure/store/open.hpp"
#include "store/sqlite/sqlite_store.hpp"

namespace perdure {
namespace {

using testing::IsEmpty;

class CopySweep : public testing::TestWithParam<Moment> {
 protected:
  CopySweep() {
    vfs.skip_syncs();
    FakeClock clock;
    const auto store = open(folder.file("original.db"), clock);
    furnish(*store, clock, Size::small);
    whole = portrait(*store);
    everybody = runnable(*store);
  }

  std::unique_ptr<Store> open(const std::string& path, FakeClock& clock) {
    OpenOptions options;
    options.clock = &clock;
    return must(
        sqlite::open_sqlite({.location = path, .path = path, .open = options, .vfs = vfs.name()}));
  }

  [[nodiscard]] static bool is_killed(const TempFolder& own, Moment moment, std::uint64_t write) {
    ChildProcess child("copy_copier", {own.file("from.db"), own.file("to.db"),
                                       std::string(to_string(moment)), std::to_string(write)});
    std::string said;
    for (const std::string& line : child.read_to_end()) said += line + "\n";
    const Ending ending = child.wait();
    EXPECT_TRUE(ending.is_clean() || ending.was_killed()) << ending.text() << said;
    return ending.was_killed();
  }

  void check(const TempFolder& own, bool abandon) {
    FakeClock clock;
    {
      const auto from = open(own.file("from.db"), clock);
      const auto to = open(own.file("to.db"), clock);
      const auto there = runnable(*to);
      for (const std::string& name : runnable(*from)) {
        EXPECT_THAT(there, testing::Not(testing::Contains(name))) << "it runs in both";
      }
      EXPECT_TRUE(there.empty() || there.size() == everybody.size());
      if (abandon && abandon_copy(*from, *to) && there.empty()) {
        ++abandoned;
        EXPECT_EQ(runnable(*from), everybody);
        EXPECT_EQ(difference(whole, portrait(*from)), "");
        EXPECT_EQ(must(to->upkeep().check()).entries, 0U);
      }
      const auto finished = copy_store(*from, *to);
      EXPECT_TRUE(finished) << finished.error().message;
      EXPECT_THAT(runnable(*from), IsEmpty());
      EXPECT_EQ(runnable(*to), everybody);
      EXPECT_EQ(difference(whole, portrait(*to)), "");
      EXPECT_TRUE(must(to->upkeep().check()).is_sound());
    }
    EXPECT_EQ(find_damage(own.file("from.db")), "");
    EXPECT_EQ(find_damage(own.file("to.db")), "");
  }

  TempFolder folder;
  CountingVfs vfs{"check copying"};
  std::string whole;
  std::vector<std::string> everybody;
  int abandoned = 0;
};

TEST_P(CopySweep, NoDeathLeavesASessionRunnableTwiceOrNowhere) {
  int deaths = 0;
  bool killed = true;
  for (std::uint64_t write = 1; killed && !HasFailure(); ++write) {
    SCOPED_TRACE(fmt::format("killed {} write {}", to_string(GetParam()), write));
    const TempFolder own = TempFolder::in_memory();
    std::filesystem::copy_file(folder.file("original.db"), own.file("from.db"));
    killed = is_killed(own, GetParam(), write);
    deaths += killed ? 1 : 0;
    check(own, write % 2 == 0);
  }
  RecordProperty("deaths", deaths);
  EXPECT_GT(deaths, 40);
  EXPECT_GT(abandoned, 10);
}

INSTANTIATE_TEST_SUITE_P(Every, CopySweep, testing::Values(Moment::before, Moment::during),
                         [](const testing::TestParamInfo<Moment>& tested) {
                           return std::string(to_string(tested.param));
                         });

}  // namespace
}  // namespace perdure
