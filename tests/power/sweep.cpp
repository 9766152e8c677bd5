// The disk is kept as the moments go by, so that a cut costs what is not synced and the
// size of the files, not the history.

#include "power/sweep.hpp"

#include <cstdint>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <iostream>
#include <random>

#include "crash/scale.hpp"
#include "doubles/power_disk.hpp"

namespace perdure {
namespace {

bool is_sync(const DiskCall& call) {
  return call.kind == DiskCall::Kind::sync || call.kind == DiskCall::Kind::sync_folder;
}

bool is_chosen(std::size_t cut, const std::vector<DiskCall>& calls, const Cuts& cuts) {
  if (cut < cuts.begin) return false;
  if (cut % cuts.stride == cuts.first % cuts.stride || cut == calls.size()) return true;
  return cuts.at_syncs && (is_sync(calls[cut]) || (cut > 0 && is_sync(calls[cut - 1])));
}

void judge_disk(const PowerDisk& disk, std::size_t cut, int number, const Judge& judge) {
  std::seed_seq seeds{scale().seed, static_cast<std::uint64_t>(cut),
                      static_cast<std::uint64_t>(number)};
  std::mt19937_64 chance(seeds);
  const bool all = number < 2 && (cut + static_cast<std::size_t>(number)) % 2 == 0;
  const auto files = disk.after_power_cut(all ? Loss::all : Loss::some, chance);
  const TempFolder folder = TempFolder::in_memory();
  put_into(folder.path().string(), files, chance);
  judge(cut, folder, fmt::format("cut at call {}, disk {}, seed {}", cut, number, scale().seed));
}

}  // namespace

void Swept::operator+=(const Swept& other) {
  cuts += other.cuts;
  disks += other.disks;
}

void Swept::print(const std::string& what) const {
  const int violations = testing::Test::HasFailure() ? 1 : 0;
  std::cout << fmt::format("{}: {} power cuts, {} disks, seed {}, {} violations\n", what, cuts,
                           disks, scale().seed, violations);
  testing::Test::RecordProperty("cuts", static_cast<int>(cuts));
  testing::Test::RecordProperty("disks", static_cast<int>(disks));
}

Swept sweep(const std::vector<DiskCall>& calls, const Cuts& cuts, const Judge& judge) {
  Swept swept;
  PowerDisk disk;
  for (std::size_t cut = 0; cut <= calls.size() && !testing::Test::HasFailure(); ++cut) {
    if (cut > 0) disk.apply(calls[cut - 1]);
    if (!is_chosen(cut, calls, cuts)) continue;
    ++swept.cuts;
    for (int number = 0; number < cuts.disks && !testing::Test::HasFailure(); ++number) {
      ++swept.disks;
      judge_disk(disk, cut, number, judge);
    }
  }
  return swept;
}

}  // namespace perdure
