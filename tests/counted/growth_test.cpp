// What a turn costs does not grow with the history behind it, and reading back costs
// what there is to read, once.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <iostream>

#include "counted/counted_store.hpp"

namespace perdure {
namespace {

constexpr double growth_max = 1.05;

// In an empty store the first turns are cheaper by half a page: while a table has one page
// it never splits. Windows are long enough to see splits in both.
constexpr std::size_t window = 400;

// Per turn, over some turns.
struct GrowthCost {
  double wal_pages = 0;
  double wal_bytes = 0;
  double file_pages = 0;
  double file_bytes = 0;
  double rows_read = 0;
};

GrowthCost cost_of(CountedStore& counted, const Lease& lease, std::size_t turns) {
  const auto wal = counted.wal();
  const auto file = counted.database();
  const auto rows = counted.counters().rows_read;
  counted.take_turns(lease, turns);
  const auto per_turn = [&](std::uint64_t after, std::uint64_t before) {
    return static_cast<double>(after - before) / static_cast<double>(turns);
  };
  return {.wal_pages = per_turn(counted.wal().writes, wal.writes) / 2,  // Frame header, then page.
          .wal_bytes = per_turn(counted.wal().bytes_written, wal.bytes_written),
          .file_pages = per_turn(counted.database().writes, file.writes),
          .file_bytes = per_turn(counted.database().bytes_written, file.bytes_written),
          .rows_read = per_turn(counted.counters().rows_read, rows)};
}

void print(const char* when, const GrowthCost& cost) {
  std::cout << fmt::format(
      "{}: per turn {:.2f} pages and {:.0f} bytes to the WAL, {:.2f} pages and {:.0f} bytes to the "
      "file, {:.2f} rows read\n",
      when, cost.wal_pages, cost.wal_bytes, cost.file_pages, cost.file_bytes, cost.rows_read);
}

// Turns until the next checkpoint of the WAL is done: the file is written to only then, so
// that fair windows over it begin and end there.
std::size_t take_turns_to_checkpoint(CountedStore& counted, const Lease& lease) {
  constexpr std::size_t turns_max = 1000;
  const auto writes = counted.database().writes;
  std::size_t turns = 0;
  for (; counted.database().writes == writes && turns < turns_max; ++turns) {
    counted.take_turns(lease, 1);
  }
  EXPECT_LT(turns, turns_max) << "the WAL is never written back";
  return turns;
}

// Bytes written to the file per turn, over `checkpoints` whole ones.
double file_bytes_per_turn(CountedStore& counted, const Lease& lease, int checkpoints) {
  const auto before = counted.database().bytes_written;
  std::size_t turns = 0;
  for (int i = 0; i < checkpoints; ++i) turns += take_turns_to_checkpoint(counted, lease);
  return static_cast<double>(counted.database().bytes_written - before) /
         static_cast<double>(turns);
}

Version version_of(CountedStore& counted, const Lease& lease) {
  return counted.store().sessions().read(lease.session)->version;
}

TEST(Growth, TurnFiveThousandCostsWhatTurnTwentyDid) {
  CountedStore counted(Durability::process);
  const Lease lease = counted.open_session("grows");
  counted.take_turns(lease, 19);
  const GrowthCost early = cost_of(counted, lease, window);
  take_turns_to_checkpoint(counted, lease);
  const double early_file = file_bytes_per_turn(counted, lease, 3);

  counted.take_turns(lease, 4800 - version_of(counted, lease));
  const GrowthCost late = cost_of(counted, lease, window);
  take_turns_to_checkpoint(counted, lease);
  const double late_file = file_bytes_per_turn(counted, lease, 3);

  print("turns 20 to 419", early);
  print("turns 4801 to 5200", late);
  std::cout << fmt::format("to the file over 3 checkpoints: {:.0f}, then {:.0f} bytes a turn\n",
                           early_file, late_file);
  EXPECT_LE(late.wal_pages, growth_max * early.wal_pages);
  EXPECT_LE(late.wal_bytes, growth_max * early.wal_bytes);
  EXPECT_LE(late.rows_read, growth_max * early.rows_read);
  EXPECT_LE(late_file, growth_max * early_file);
}

class Loading : public testing::Test {
 protected:
  static constexpr std::size_t turns = 1000;
  // Finding the session, the point and its segments.
  static constexpr std::uint64_t rows_around = 8;

  Loading() { counted.take_turns(lease, turns); }

  std::uint64_t rows_for(Point as_of, std::size_t& entries) {
    const auto before = counted.counters().rows_read;
    LogQuery query;
    query.as_of = as_of;
    entries = counted.store().log().read(lease.session, query)->size();
    return counted.counters().rows_read - before;
  }

  CountedStore counted{Durability::process};
  const Lease lease = counted.open_session("loaded");
};

TEST_F(Loading, TheHeadReadsEachOfItsRowsOnce) {
  std::size_t entries = 0;
  const auto rows = rows_for(Point::head(), entries);

  EXPECT_EQ(entries, turns * CountedStore::entries_per_turn);
  EXPECT_GE(rows, entries);
  EXPECT_LE(rows, entries + rows_around);
}

TEST_F(Loading, AVersionHalfWayReadsAboutHalf) {
  std::size_t all = 0;
  std::size_t half = 0;
  const auto all_rows = static_cast<double>(rows_for(Point::head(), all));
  const auto half_rows = static_cast<double>(rows_for(Point::version(turns / 2), half));

  EXPECT_EQ(half, all / 2);
  EXPECT_GE(half_rows, 0.45 * all_rows);
  EXPECT_LE(half_rows, 0.55 * all_rows);
}

}  // namespace
}  // namespace perdure
