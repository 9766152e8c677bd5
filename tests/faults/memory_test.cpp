// SQLite's Nth allocation fails, once or from then on, N = 1, 2, 3 … until the script runs
// clean. A program of its own: SQLite's allocator can be chosen only before anything uses it.

#include <atomic>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <iostream>
#include <sqlite3.h>

#include "crash/crash_check.hpp"
#include "crash/scale.hpp"
#include "faults/fault_run.hpp"

namespace perdure {
namespace {

// The state of an allocator of C functions can only be static.
struct Allocator {
  sqlite3_mem_methods system{};
  std::atomic<std::uint64_t> number = 0;  ///< That fails; 0: none does.
  std::atomic<std::uint64_t> calls = 0;
  std::atomic<bool> for_ever = false;
  std::atomic<bool> failed = false;

  bool fails() {
    const std::uint64_t call = ++calls;
    const std::uint64_t first = number;
    const bool now = first != 0 && (call == first || (for_ever && call > first));
    if (now) failed = true;
    return now;
  }
};

Allocator& allocator() {
  static Allocator instance;
  return instance;
}

void* allocate(int size) {
  return allocator().fails() ? nullptr : allocator().system.xMalloc(size);
}

void* reallocate(void* memory, int size) {
  return allocator().fails() ? nullptr : allocator().system.xRealloc(memory, size);
}

class Memory : public testing::TestWithParam<bool> {
 protected:
  static void SetUpTestSuite() {
    sqlite3_config(SQLITE_CONFIG_GETMALLOC, &allocator().system);
    sqlite3_mem_methods failing = allocator().system;
    failing.xMalloc = allocate;
    failing.xRealloc = reallocate;
    ASSERT_EQ(sqlite3_config(SQLITE_CONFIG_MALLOC, &failing), SQLITE_OK);
  }

  static FaultRun::Trouble trouble_at(std::uint64_t number) {
    return {.begin =
                [=] {
                  allocator().calls = 0;
                  allocator().failed = false;
                  allocator().for_ever = GetParam();
                  allocator().number = number;
                },
            .heal = [] { allocator().number = 0; },
            .has_come = [] { return allocator().failed.load(); }};
  }
};

TEST_P(Memory, RunningOutShowsAsErrorsLeavesNothingHalfDoneAndPasses) {
  const CrashCheck check;
  // Prime, so that samples do not follow the rhythm of statements.
  const std::uint64_t stride = scale().full ? 1 : 151;
  std::size_t points = 0;
  bool hit = true;
  for (std::uint64_t number = 1 + scale().seed % stride; hit; number += stride) {
    FaultRun run(check, trouble_at(number));
    ASSERT_EQ(run.find_fault(Then::goes_on), "") << "at allocation " << number;
    hit = run.was_hit();
    points += hit ? 1 : 0;
  }
  std::cout << fmt::format("memory {}: {} fault points, seed {}, 0 violations\n",
                           GetParam() ? "for ever" : "once", points, scale().seed);
  RecordProperty("points", static_cast<int>(points));
  EXPECT_GT(points, 10U);
}

INSTANTIATE_TEST_SUITE_P(Every, Memory, testing::Bool(),
                         [](const auto& that) { return that.param ? "for_ever" : "once"; });

}  // namespace
}  // namespace perdure
