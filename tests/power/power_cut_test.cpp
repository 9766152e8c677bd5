// The power goes at every sync and around every write of the script, the making of the
// store and its closing included; again while a second run recovers from the first cut.
// Each time the disk that is left is opened as any store is.
//
// Durability::full: what was acknowledged as synced is there. What was to be synced later,
// and all of Durability::process: a prefix is there, and whole.

#include <gtest/gtest.h>
#include <ostream>

#include "crash/crash_check.hpp"
#include "crash/scale.hpp"
#include "doubles/temp_folder.hpp"
#include "power/recording.hpp"
#include "power/sweep.hpp"

namespace perdure {
namespace {

struct Case {
  const char* name = "";
  Load load = Load::small;
  Durability durability = Durability::full;
  std::size_t stride = 1;  ///< Of the short run.
  int disks = 1;
};

void PrintTo(const Case& that, std::ostream* out) { *out << that.name; }

std::string name_of(const testing::TestParamInfo<Case>& info) { return info.param.name; }

class PowerCut : public testing::TestWithParam<Case> {
 protected:
  static Recording record_script(const TempFolder& folder, const std::string& worker) {
    return record({.folder = folder.path().string(),
                   .worker = worker,
                   .load = GetParam().load,
                   .durability = GetParam().durability});
  }
  static Cuts cuts(const Recording& recording) {
    return {.begin = recording.begin,
            .stride = scale().full ? 1 : GetParam().stride,
            .first = scale().seed,
            .disks = scale().rounds.value_or(GetParam().disks)};
  }

  const CrashCheck check{GetParam().load};
};

TEST_P(PowerCut, LosesNothingSyncedAndLeavesAPrefixOfTheRest) {
  const TempFolder made = TempFolder::in_memory();
  const Recording recording = record_script(made, "first");
  const auto judge = [&](std::size_t cut, const TempFolder& left, const std::string& where) {
    Testimony testimony;
    std::size_t synced = 0;
    hear_until(cut, recording, testimony, synced);
    EXPECT_EQ(check.find_fault(left.file("store.db"), testimony), "") << where;
  };
  const Swept swept = sweep(recording.calls, cuts(recording), judge);
  swept.print(GetParam().name);
  EXPECT_GT(swept.cuts, 30U);
}

INSTANTIATE_TEST_SUITE_P(
    Script, PowerCut,
    testing::Values(Case{.name = "full", .stride = 4, .disks = 2},
                    Case{.name = "process", .durability = Durability::process, .stride = 5},
                    Case{.name = "full_with_checkpoints", .load = Load::large, .stride = 401},
                    Case{.name = "process_with_checkpoints",
                         .load = Load::large,
                         .durability = Durability::process,
                         .stride = 199}),
    name_of);

// Both cuts are samples: not even syncs are all tried, as pairs are too many.
class SecondPowerCut : public PowerCut {
 protected:
  static Cuts sample(const Recording& recording, std::size_t first, int disks) {
    Cuts sampled = cuts(recording);
    sampled.first = first;
    sampled.at_syncs = false;
    sampled.disks = disks;
    return sampled;
  }
};

TEST_P(SecondPowerCut, DuringRecoveryLosesNothingEither) {
  const TempFolder made = TempFolder::in_memory();
  const Recording first = record_script(made, "first");
  Swept swept;
  const auto judge = [&](std::size_t cut, const TempFolder& left, const std::string& where) {
    const Recording second = record_script(left, "second");
    const auto judge_again = [&](std::size_t again, const TempFolder& at_last,
                                 const std::string& where_again) {
      Testimony testimony;
      std::size_t synced = 0;
      hear_until(cut, first, testimony, synced);
      hear_until(again, second, testimony, synced);
      EXPECT_EQ(check.find_fault(at_last.file("store.db"), testimony), "")
          << where << ", then " << where_again;
    };
    swept += sweep(second.calls, sample(second, cut, GetParam().disks), judge_again);
  };
  sweep(first.calls, sample(first, scale().seed, 1), judge);
  swept.print(GetParam().name);
  EXPECT_GT(swept.cuts, 30U);
}

INSTANTIATE_TEST_SUITE_P(Script, SecondPowerCut,
                         testing::Values(Case{.name = "full", .stride = 43, .disks = 2}), name_of);

}  // namespace
}  // namespace perdure
