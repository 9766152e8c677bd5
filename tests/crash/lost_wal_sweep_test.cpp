// The writer dies at its Nth store write, and then the WAL goes: deleted, or written back
// by another program. Deleted: what was acknowledged is there, or somebody is told. Written
// back: nothing was lost, and nobody is told that it was.

#include <filesystem>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <ostream>
#include <string>

#include "crash/child_process.hpp"
#include "crash/crash_check.hpp"
#include "crash/scale.hpp"
#include "doubles/counting_vfs.hpp"
#include "doubles/temp_folder.hpp"
#include "perdure/store/store.hpp"
#include "store/sqlite/engine/connection.hpp"

namespace perdure {
namespace {

struct Deaths {
  Load load = Load::small;
  Moment moment = Moment::before;
  std::uint64_t stride = 1;
};

void PrintTo(const Deaths& deaths, std::ostream* out) {
  *out << (deaths.load == Load::large ? "large_" : "small_") << to_string(deaths.moment);
}

std::string name_of_deaths(const testing::TestParamInfo<Deaths>& info) {
  return testing::PrintToString(info.param);
}

class LostWalSweep : public testing::TestWithParam<Deaths> {
 protected:
  /// False if the writer came to its end.
  static bool die(const std::string& path, std::uint64_t write, Testimony& testimony) {
    const Deaths& deaths = GetParam();
    ChildProcess writer("crash_writer",
                        {path, "first", deaths.load == Load::large ? "large" : "small",
                         std::string(to_string(deaths.moment)), std::to_string(write)});
    for (const std::string& line : writer.read_to_end()) testimony.hear(line);
    return writer.wait().was_killed();
  }

  /// Calls `judge(path, testimony, write)` after each death.
  template <class Judge>
  static void sweep(Judge judge) {
    const std::uint64_t stride = scale().full ? 1 : GetParam().stride;
    int deaths = 0;
    for (std::uint64_t write = 1 + scale().seed % stride;; write += stride, ++deaths) {
      const TempFolder folder;
      const std::string path = folder.file("store.db");
      Testimony testimony;
      if (!die(path, write, testimony)) break;
      judge(path, testimony, write);
      if (HasFailure()) return;
    }
    tell("crash, then the WAL goes", deaths);
    EXPECT_GT(deaths, 20);
  }

  const CrashCheck check{GetParam().load};
};

TEST_P(LostWalSweep, DeletedItIsNamedOrWasNotNeeded) {
  int named = 0;
  sweep([&](const std::string& path, const Testimony& testimony, std::uint64_t write) {
    std::filesystem::remove(path + "-wal");
    const auto store = open_store(path);
    if (!store || !(*store)->upkeep().check().value().is_sound()) {
      ++named;
      return;
    }
    EXPECT_EQ(check.compare(**store, testimony), "") << "at write " << write;
  });
  EXPECT_GT(named, 10);
}

TEST_P(LostWalSweep, WrittenBackByAnotherProgramItIsNotMissed) {
  sweep([&](const std::string& path, const Testimony& testimony, std::uint64_t write) {
    {
      std::atomic<std::uint64_t> rows_read = 0;
      sqlite::Connection shell(path, "", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, &rows_read);
      shell.execute("SELECT count(*) FROM sqlite_schema");
    }
    EXPECT_EQ(check.find_fault(path, testimony), "") << "at write " << write;
  });
}

INSTANTIATE_TEST_SUITE_P(Strided, LostWalSweep,
                         testing::Values(Deaths{Load::small, Moment::before, 11},
                                         Deaths{Load::small, Moment::after, 13},
                                         Deaths{Load::large, Moment::before, 61},
                                         Deaths{Load::large, Moment::during, 71}),
                         name_of_deaths);

}  // namespace
}  // namespace perdure
