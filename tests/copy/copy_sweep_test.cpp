// Who copies dies at its Nth write to either store. At no moment can a session be run in both
// stores; afterwards the copy is finished or abandoned, in turns, and every session can be run in
// exactly one of them and is what it was.
//
// Between two files it dies at every write; where a server takes part, at some of its round trips:
// others with another seed, all of them with --full.

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "contract/backends.hpp"
#include "copy/household.hpp"
#include "crash/child_process.hpp"
#include "crash/scale.hpp"
#include "crash/stored_file.hpp"
#include "doubles/counting_vfs.hpp"
#include "doubles/difference.hpp"
#include "doubles/fake_clock.hpp"
#include "doubles/must.hpp"
#include "doubles/temp_folder.hpp"
#include "perdure/store/store.hpp"
#include "perdure/store/upkeep.hpp"

namespace perdure {
namespace {

using testing::IsEmpty;

/// Which of the two stores it is that a copier dies at.
enum class Side : std::uint8_t { source, target };

std::string_view to_string(Side side) { return side == Side::source ? "source" : "target"; }

struct Sweep {
  Backend from;
  Backend to;
  Side side;
  Moment moment;

  [[nodiscard]] bool has_server() const {
    return from.home == Home::schema || to.home == Home::schema;
  }
};

void PrintTo(const Sweep& sweep, std::ostream* out) {
  *out << fmt::format("{}_to_{}_{}_writes_to_the_{}", sweep.from.name, sweep.to.name,
                      to_string(sweep.moment), to_string(sweep.side));
}

std::vector<Sweep> every_sweep() {
  std::vector<Sweep> sweeps;
  for (const Backend& from : surviving_backends()) {
    for (const Backend& to : surviving_backends()) {
      for (const Side side : {Side::source, Side::target}) {
        for (const Moment moment : {Moment::before, Moment::during}) {
          sweeps.push_back({from, to, side, moment});
        }
      }
    }
  }
  return sweeps;
}

/// The two stores of one copy, before it.
class Stage {
 public:
  Stage(const Sweep& sweep, const std::string& original)
      : sweep_(sweep), from_(sweep.from, memory_folder()), to_(sweep.to, memory_folder()) {
    if (sweep.from.home == Home::file) {
      std::filesystem::copy_file(original, from_.file());
      return;
    }
    FakeClock clock;
    furnish(*open(from_, clock), clock, Size::small);
  }

  [[nodiscard]] std::unique_ptr<Store> open_from(FakeClock& clock) const {
    return open(from_, clock);
  }
  [[nodiscard]] std::unique_ptr<Store> open_to(FakeClock& clock) const { return open(to_, clock); }

  /// Dies at that write; 0: at none. Returns what a copier said that came to its end, or nothing of
  /// one that was killed.
  [[nodiscard]] std::string copy(std::uint64_t write) const {
    ChildProcess child("copy_copier",
                       {from_.location(), to_.location(), std::string(to_string(sweep_.side)),
                        std::string(perdure::to_string(sweep_.moment)), std::to_string(write)});
    std::string said;
    for (const std::string& line : child.read_to_end()) said += line + "\n";
    const Ending ending = child.wait();
    EXPECT_TRUE(ending.is_clean() || ending.was_killed()) << ending.text() << said;
    if (!ending.was_killed()) return said;
    from_.settle();
    to_.settle();
    return "";
  }

  void expect_whole() const {
    EXPECT_EQ(find_damage(from_.location()), "");
    EXPECT_EQ(find_damage(to_.location()), "");
  }

 private:
  [[nodiscard]] static std::unique_ptr<Store> open(const StorePlace& place, FakeClock& clock) {
    return must(open_store(place.location(), {.durability = Durability::process, .clock = &clock}));
  }

  const Sweep& sweep_;
  StorePlace from_;
  StorePlace to_;
};

class CopySweep : public testing::TestWithParam<Sweep> {
 protected:
  CopySweep() {
    FakeClock clock;
    const auto store = must(open_store("sqlite:" + original(), {.clock = &clock}));
    furnish(*store, clock, Size::small);
    whole = portrait(*store);
    everybody = runnable(*store);
  }

  [[nodiscard]] std::string original() const { return folder.file("original.db"); }

  /// How many writes there are to die at.
  [[nodiscard]] std::uint64_t count_writes() const {
    std::istringstream said(Stage(GetParam(), original()).copy(0));
    std::string word;
    std::uint64_t source = 0;
    std::uint64_t target = 0;
    EXPECT_TRUE(said >> word >> source >> target);
    return GetParam().side == Side::source ? source : target;
  }

  void check(const Stage& stage, bool abandon) {
    FakeClock clock;
    const auto from = stage.open_from(clock);
    const auto to = stage.open_to(clock);
    const auto there = runnable(*to);
    for (const std::string& name : runnable(*from)) {
      EXPECT_THAT(there, testing::Not(testing::Contains(name))) << "it runs in both";
    }
    EXPECT_TRUE(there.empty() || there.size() == everybody.size());
    if (abandon && abandon_move(*from, *to) && there.empty()) {
      ++abandoned;
      EXPECT_EQ(runnable(*from), everybody);
      EXPECT_EQ(difference(whole, portrait(*from)), "");
      EXPECT_EQ(must(to->upkeep().check()).entries, 0U);
    }
    const auto finished = move_sessions(*from, *to);
    EXPECT_TRUE(finished) << finished.error().message;
    EXPECT_THAT(runnable(*from), IsEmpty());
    EXPECT_EQ(runnable(*to), everybody);
    EXPECT_EQ(difference(whole, portrait(*to)), "");
    EXPECT_TRUE(must(to->upkeep().check()).is_sound());
  }

  void die(std::uint64_t write) {
    SCOPED_TRACE(fmt::format("killed at write {}", write));
    const Stage stage(GetParam(), original());
    if (stage.copy(write).empty()) ++deaths;
    check(stage, ++tried % 2 == 0);
    stage.expect_whole();
  }

  const TempFolder folder = TempFolder::in_memory();
  std::string whole;
  std::vector<std::string> everybody;
  int tried = 0;
  int deaths = 0;
  int abandoned = 0;
};

TEST_P(CopySweep, NoDeathLeavesASessionRunnableTwiceOrNowhere) {
  const std::uint64_t writes = count_writes();
  const bool is_swept = scale().full || !GetParam().has_server();
  // The last ones are where the sessions change hands.
  const std::uint64_t ending = is_swept ? 1 : std::max<std::uint64_t>(3, writes) - 2;

  if (!is_swept) die(1 + scale().seed * 7 % ending);
  for (std::uint64_t write = ending; write <= writes && !HasFailure(); ++write) die(write);

  tell("copy", deaths);
  EXPECT_GT(tried, 1);
  // A server's round trips are not always as many.
  EXPECT_GE(deaths, GetParam().has_server() ? 1 : tried - 1);
  if (is_swept) {
    EXPECT_GT(abandoned, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Every, CopySweep, testing::ValuesIn(every_sweep()),
                         [](const auto& tested) { return testing::PrintToString(tested.param); });

}  // namespace
}  // namespace perdure
