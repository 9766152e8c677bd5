// The writer dies at its Nth store write, N = 1, 2, 3 … until a run comes to its end;
// and again while a second one recovers from the first one's death.
//
// SIGKILL leaves the kernel's cache alone: this is the death of processes. The loss of
// power is in tests/power.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <ostream>

#include "crash/child_process.hpp"
#include "crash/crash_check.hpp"
#include "crash/scale.hpp"
#include "doubles/counting_vfs.hpp"
#include "doubles/temp_folder.hpp"

namespace perdure {
namespace {

struct Death {
  Load load = Load::small;
  Moment moment = Moment::before;
  std::uint64_t write = 0;

  [[nodiscard]] std::string text() const {
    return fmt::format("killed {} write {}", to_string(moment), write);
  }
};

// True if the writer came to its end; false if it was killed, as told.
bool run_writer(const std::string& path, const std::string& worker, const Death& death,
                Testimony& testimony) {
  ChildProcess writer("crash_writer",
                      {path, worker, death.load == Load::large ? "large" : "small",
                       std::string(to_string(death.moment)), std::to_string(death.write)});
  for (const std::string& line : writer.read_to_end()) testimony.hear(line);
  const Ending ending = writer.wait();
  EXPECT_TRUE(ending.is_clean() || ending.was_killed()) << ending.text() << testimony.trouble();
  return !ending.was_killed();
}

// Kills one writer after the other, each `stride` writes later than the one before, until
// one comes to its end; returns how many died.
int sweep(Death death, std::uint64_t stride) {
  const CrashCheck check(death.load);
  for (int deaths = 0;; ++deaths, death.write += stride) {
    const TempFolder folder;
    const std::string path = folder.file("store.db");
    Testimony testimony;
    const bool ended = run_writer(path, "first", death, testimony);
    EXPECT_EQ(check.find_fault(path, testimony), "") << death.text();
    if (testing::Test::HasFailure()) return deaths;
    if (!ended) continue;
    EXPECT_EQ(testimony.acknowledged(), check.steps());
    EXPECT_LT(*testimony.writes(), death.write) << "the writer outlived its death";
    tell("crash", deaths);
    return deaths;
  }
}

// Sweeps are cut into parts, so that they run beside each other.
constexpr std::uint64_t parts = 2;

struct Part {
  Moment moment = Moment::before;
  std::uint64_t number = 0;
};

void PrintTo(const Part& part, std::ostream* out) {
  *out << to_string(part.moment) << '_' << part.number;
}

std::string name_of(const testing::TestParamInfo<Part>& info) {
  return testing::PrintToString(info.param);
}

class CrashSweep : public testing::TestWithParam<Part> {};

TEST_P(CrashSweep, NoDeathOfTheWriterLosesDoublesOrTearsAnything) {
  const auto [moment, part] = GetParam();
  const int deaths = sweep({.load = Load::small, .moment = moment, .write = part + 1}, parts);
  EXPECT_GT(deaths, 100);
}

INSTANTIATE_TEST_SUITE_P(Every, CrashSweep,
                         testing::Values(Part{Moment::before, 0}, Part{Moment::before, 1},
                                         Part{Moment::during, 0}, Part{Moment::during, 1},
                                         Part{Moment::after, 0}, Part{Moment::after, 1}),
                         name_of);

// Here the WAL is written back into the file and begun anew while the writer lives.
class LargeSweep : public testing::TestWithParam<Part> {};

TEST_P(LargeSweep, NorDoesADeathWhileTheWalIsWrittenBack) {
  const std::uint64_t stride = scale().full ? 1 : 37;
  const int deaths =
      sweep({.load = Load::large, .moment = GetParam().moment, .write = 1 + scale().seed % stride},
            stride);
  EXPECT_GT(deaths, 50);
}

INSTANTIATE_TEST_SUITE_P(Strided, LargeSweep,
                         testing::Values(Part{Moment::before}, Part{Moment::during}), name_of);

class RecoverySweep : public testing::TestWithParam<Part> {
 protected:
  const CrashCheck check;
};

TEST_P(RecoverySweep, NorDoesADeathDuringRecovery) {
  const auto [moment, part] = GetParam();
  const std::uint64_t stride = scale().full ? 1 : 29;
  bool first_ended = false;
  int deaths = 0;
  for (Death first{.write = 1 + scale().seed % stride + part * stride}; !first_ended;
       first.write += parts * stride) {
    bool second_ended = false;
    for (Death second{.moment = moment, .write = 1 + first.write % stride}; !second_ended;
         second.write += stride) {
      const TempFolder folder;
      const std::string path = folder.file("store.db");
      Testimony testimony;
      first_ended = run_writer(path, "first", first, testimony);
      second_ended = run_writer(path, "second", second, testimony);
      deaths += second_ended ? 0 : 1;
      ASSERT_EQ(check.find_fault(path, testimony), "")
          << first.text() << ", then " << second.text();
    }
  }
  tell("crash during recovery", deaths);
  EXPECT_GT(deaths, 10);
}

INSTANTIATE_TEST_SUITE_P(Strided, RecoverySweep,
                         testing::Values(Part{Moment::before, 0}, Part{Moment::before, 1},
                                         Part{Moment::during, 0}, Part{Moment::during, 1}),
                         name_of);

}  // namespace
}  // namespace perdure
