// The writer dies at its Nth store write (doubles/kill_switch.hpp), N = 1, 2, 3 … until a run comes to
// its end; and again while a second one recovers from the first one's death.
//
// SIGKILL leaves the kernel's cache and the server alone: this is the death of processes. The
// loss of power is in tests/power.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <ostream>
#include <string>
#include <vector>

#include "contract/backends.hpp"
#include "crash/child_process.hpp"
#include "crash/crash_check.hpp"
#include "crash/scale.hpp"
#include "doubles/counting_vfs.hpp"

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
bool run_writer(const StorePlace& home, const std::string& worker, const Death& death,
                Testimony& testimony) {
  ChildProcess writer("crash_writer",
                      {home.location(), worker, death.load == Load::large ? "large" : "small",
                       std::string(to_string(death.moment)), std::to_string(death.write)});
  for (const std::string& line : writer.read_to_end()) testimony.hear(line);
  const Ending ending = writer.wait();
  home.settle();
  EXPECT_TRUE(ending.is_clean() || ending.was_killed()) << ending.text() << testimony.trouble();
  return !ending.was_killed();
}

// Kills one writer after the other, each `stride` writes later than the one before, until
// one comes to its end; returns how many died.
int sweep(const Backend& backend, Death death, std::uint64_t stride) {
  const CrashCheck check(death.load);
  for (int deaths = 0;; ++deaths, death.write += stride) {
    const StorePlace home(backend);
    Testimony testimony;
    const bool ended = run_writer(home, "first", death, testimony);
    EXPECT_EQ(check.find_fault(home.location(), testimony), "") << death.text();
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
  Backend backend;
  Moment moment = Moment::before;
  std::uint64_t number = 0;

  [[nodiscard]] bool is_file() const { return backend.home == Home::file; }
};

void PrintTo(const Part& part, std::ostream* out) {
  *out << part.backend.name << '_' << to_string(part.moment) << '_' << part.number;
}

std::vector<Part> parts_of(const std::vector<Backend>& backends,
                           const std::vector<Moment>& moments) {
  std::vector<Part> all;
  for (const Backend& backend : backends) {
    for (const Moment moment : moments) {
      for (std::uint64_t number = 0; number < parts; ++number) {
        all.push_back({backend, moment, number});
      }
    }
  }
  return all;
}

std::string name_of(const testing::TestParamInfo<Part>& info) {
  return testing::PrintToString(info.param);
}

class CrashSweep : public testing::TestWithParam<Part> {};

TEST_P(CrashSweep, NoDeathOfTheWriterLosesDoublesOrTearsAnything) {
  const auto& [backend, moment, part] = GetParam();
  const int deaths =
      sweep(backend, {.load = Load::small, .moment = moment, .write = part + 1}, parts);
  EXPECT_GT(deaths, GetParam().is_file() ? 100 : 12);
}

INSTANTIATE_TEST_SUITE_P(Every, CrashSweep,
                         testing::ValuesIn(parts_of(surviving_backends(),
                                                    {Moment::before, Moment::during,
                                                     Moment::after})),
                         name_of);

// Here the WAL is written back into the file and begun anew while the writer lives.
class LargeSweep : public testing::TestWithParam<Part> {};

TEST_P(LargeSweep, NorDoesADeathWhileTheWalIsWrittenBack) {
  const std::uint64_t stride = scale().full ? 1 : 37;
  const int deaths =
      sweep(GetParam().backend,
            {.load = Load::large, .moment = GetParam().moment, .write = 1 + scale().seed % stride},
            stride);
  EXPECT_GT(deaths, 50);
}

INSTANTIATE_TEST_SUITE_P(Strided, LargeSweep,
                         testing::Values(Part{file_backends().at(0), Moment::before},
                                         Part{file_backends().at(0), Moment::during}),
                         name_of);

class RecoverySweep : public testing::TestWithParam<Part> {
 protected:
  const CrashCheck check;
};

TEST_P(RecoverySweep, NorDoesADeathDuringRecovery) {
  const auto& [backend, moment, part] = GetParam();
  const std::uint64_t stride = scale().full ? 1 : GetParam().is_file() ? 29 : 17;
  bool first_ended = false;
  int deaths = 0;
  for (Death first{.write = 1 + scale().seed % stride + part * stride}; !first_ended;
       first.write += parts * stride) {
    bool second_ended = false;
    for (Death second{.moment = moment, .write = 1 + first.write % stride}; !second_ended;
         second.write += stride) {
      const StorePlace home(backend);
      Testimony testimony;
      first_ended = run_writer(home, "first", first, testimony);
      second_ended = run_writer(home, "second", second, testimony);
      deaths += second_ended ? 0 : 1;
      ASSERT_EQ(check.find_fault(home.location(), testimony), "")
          << first.text() << ", then " << second.text();
    }
  }
  tell("crash during recovery", deaths);
  EXPECT_GT(deaths, GetParam().is_file() ? 10 : 3);
}

INSTANTIATE_TEST_SUITE_P(Strided, RecoverySweep,
                         testing::ValuesIn(parts_of(surviving_backends(),
                                                    {Moment::before, Moment::during})),
                         name_of);

}  // namespace
}  // namespace perdure
