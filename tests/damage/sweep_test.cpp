// Damage everywhere: every page of a small store that holds something of everything, and
// its write-ahead log. Prints how many places were damaged and what became of them.

#include <cstring>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <iostream>
#include <string>

#include "crash/scale.hpp"
#include "damage/sample.hpp"
#include "damage/verdict.hpp"
#include "doubles/temp_folder.hpp"
#include "doubles/wal_frames.hpp"
#include "store/sqlite/engine/lock_file.hpp"

namespace perdure {
namespace {

constexpr std::size_t sweep_page_bytes = 8192;

// One sample for all sweeps of a program.
struct Original {
  Sample sample;
  Files files;
};

Original make_original(bool in_wal) {
  const TempFolder folder = TempFolder::in_memory();
  Original made{.sample = make_sample(folder.file("store.db"), in_wal), .files = {}};
  made.files = read_files(folder.file("store.db"));
  if (in_wal) made.files.log.resize(frames_end(made.files.log));
  return made;
}

class DamageSweep : public testing::Test {
 protected:
  void try_lost(const Original& original, const Files& damaged, const std::string& what) {
    const int before = lost_;
    try_one(original, damaged, what);
    if (lost_ == before && ++complaints_ <= 20) ADD_FAILURE() << what << ": the WAL is not named";
  }

  void try_one(const Original& original, const Files& damaged, const std::string& what) {
    const DamageVerdict verdict = judge(damaged, original.sample);
    ++places_;
    found_ += verdict.found ? 1 : 0;
    unchanged_ += verdict.changed || verdict.found ? 0 : 1;
    lost_ += verdict.lost ? 1 : 0;
    unopened_ += verdict.opened ? 0 : 1;
    for (const std::string& wrong : verdict.wrong) {
      if (++complaints_ <= 20) ADD_FAILURE() << what << ": " << wrong;
    }
  }

  ~DamageSweep() override {
    std::cout << fmt::format(
        "damage: {}: {} places, {} found ({} by opening, {} as a WAL that lacks commits), {} "
        "changed nothing, {} violations\n",
        testing::UnitTest::GetInstance()->current_test_info()->name(), places_, found_, unopened_,
        lost_, unchanged_, complaints_);
  }

 private:
  int places_ = 0;
  int found_ = 0;
  int unopened_ = 0;
  int unchanged_ = 0;
  int lost_ = 0;
  int complaints_ = 0;
};

char flipped(char byte, std::uint64_t place) {
  return static_cast<char>(byte ^ (place % 2 == 0 ? 0xFF : 1 << (place / 2 % 8)));
}

// Every `stride`-th byte, from one that the seed chooses.
template <class Try>
void each_place(std::size_t size, std::size_t stride, Try try_place) {
  const std::size_t step = scale().full ? 8 : stride;
  for (std::size_t at = scale().seed * 7919 % step; at < size; at += step) try_place(at);
}

TEST_F(DamageSweep, FlippedBytes) {
  const Original original = make_original(false);
  std::uint64_t number = scale().seed;
  // No power of two: the places wander through the pages.
  each_place(original.files.file.size(), 2003, [&](std::size_t at) {
    Files damaged = original.files;
    damaged.file[at] = flipped(damaged.file[at], ++number);
    try_one(original, damaged,
            fmt::format("byte {} of page {}", at % sweep_page_bytes, at / sweep_page_bytes + 1));
  });
}

// Where a page says what it is and where its rows are, one byte matters more.
TEST_F(DamageSweep, FlippedBytesInPageHeaders) {
  const Original original = make_original(false);
  std::uint64_t number = scale().seed;
  const std::size_t pages = original.files.file.size() / sweep_page_bytes;
  for (std::size_t page = 0; page < pages; page += scale().full ? 1 : 4) {
    for (const std::size_t at : {0U, 3U, 4U, 5U, 8U, 9U, 11U}) {
      Files damaged = original.files;
      const std::size_t byte = page * sweep_page_bytes + at + (page == 0 ? 100 : 0);
      damaged.file[byte] = flipped(damaged.file[byte], ++number);
      try_one(original, damaged, fmt::format("header byte {} of page {}", at, page + 1));
    }
  }
}

TEST_F(DamageSweep, FlippedBytesInTheFileHeader) {
  const Original original = make_original(false);
  std::uint64_t number = scale().seed;
  for (std::size_t at = 0; at < 100; at += scale().full ? 1 : 4) {
    Files damaged = original.files;
    damaged.file[at] = flipped(damaged.file[at], ++number);
    try_one(original, damaged, fmt::format("byte {} of the file", at));
  }
}

TEST_F(DamageSweep, ZeroedPages) {
  const Original original = make_original(false);
  for (std::size_t page = 0; page < original.files.file.size() / sweep_page_bytes; ++page) {
    Files damaged = original.files;
    damaged.file.replace(page * sweep_page_bytes, sweep_page_bytes, sweep_page_bytes, '\0');
    try_one(original, damaged, fmt::format("page {} zeroed", page + 1));
  }
}

TEST_F(DamageSweep, TruncatedFiles) {
  const Original original = make_original(false);
  for (std::size_t end = 0; end < original.files.file.size(); end += sweep_page_bytes) {
    for (const std::size_t more : {0U, 100U, 4000U}) {
      // A third of them in turn, unless all are asked for.
      if (!scale().full && (end / sweep_page_bytes + more) % 3 != 0) continue;
      const Files damaged{.file = original.files.file.substr(0, end + more), .log = {}};
      if (damaged.file.empty()) continue;
      try_one(original, damaged, fmt::format("cut off after byte {}", end + more));
    }
  }
}

// SQLite takes a damaged frame for the end of the log, as after a crash, and is content with an
// earlier moment. Every frame of this log was acknowledged: none may go without a word.
TEST_F(DamageSweep, DamagedLogs) {
  const Original original = make_original(true);
  ASSERT_GT(original.files.log.size(), 10 * sweep_page_bytes);
  std::uint64_t number = scale().seed;
  Files without = original.files;
  without.log.clear();
  try_lost(original, without, "log missing");
  each_place(original.files.log.size(), 19937, [&](std::size_t at) {
    Files damaged = original.files;
    damaged.log[at] = flipped(damaged.log[at], ++number);
    try_lost(original, damaged, fmt::format("byte {} of the log", at));
    damaged = original.files;
    damaged.log.resize(at);
    try_lost(original, damaged, fmt::format("log cut off after byte {}", at));
  });
}

// At every frame, not only where the stride falls.
TEST_F(DamageSweep, LogsCutBetweenFrames) {
  const Original original = make_original(true);
  constexpr std::size_t frame_bytes = 24 + sweep_page_bytes;
  for (std::size_t end = 32; end + frame_bytes <= original.files.log.size(); end += frame_bytes) {
    Files damaged = original.files;
    damaged.log.resize(end);
    try_lost(original, damaged, fmt::format("log cut off after byte {}", end));
  }
}

// Another boot: what was not synced may be gone, and here all of it was.
TEST_F(DamageSweep, DamagedLogsAfterAnotherBoot) {
  Original original = make_original(true);
  sqlite::WalRecord record;
  constexpr std::size_t record_at = 24;
  ASSERT_EQ(original.files.lock.size(), record_at + sizeof record);
  std::memcpy(&record, original.files.lock.data() + record_at, sizeof record);
  ++record.boot;
  record.seal();
  std::memcpy(original.files.lock.data() + record_at, &record, sizeof record);
  Files without = original.files;
  without.log.clear();
  try_lost(original, without, "log missing");
  Files cut = original.files;
  cut.log.resize(cut.log.size() / 2);
  try_lost(original, cut, "log cut off in the middle");
}

// What is said of undamaged files must be nothing, wherever they were copied to.
TEST_F(DamageSweep, UndamagedFiles) {
  for (const bool in_wal : {false, true}) {
    const Original original = make_original(in_wal);
    EXPECT_FALSE(judge(original.files, original.sample).found);
    Files unlocked = original.files;
    unlocked.lock.clear();
    EXPECT_FALSE(judge(unlocked, original.sample).found) << "without its lock file";
  }
}

}  // namespace
}  // namespace perdure
