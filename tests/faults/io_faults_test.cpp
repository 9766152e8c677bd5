// The Nth call to the files fails, once or for ever, N = 1, 2, 3 … until the script runs
// clean: reads, writes, syncs, truncations, opening, deleting, sizes, locks, shared memory.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <iostream>
#include <ostream>

#include "crash/crash_check.hpp"
#include "crash/scale.hpp"
#include "doubles/fault_vfs.hpp"
#include "faults/fault_run.hpp"

namespace perdure {
namespace {

struct Case {
  IoFault fault = IoFault::error;
  Lasting lasting = Lasting::once;
  Then then = Then::goes_on;
  std::uint64_t stride = 1;  ///< Of the short run.

  [[nodiscard]] std::string text() const {
    return fmt::format("{}_{}_{}", to_string(fault), lasting == Lasting::once ? "once" : "for_ever",
                       then == Then::goes_on ? "goes_on" : "reopens");
  }
};

void PrintTo(const Case& that, std::ostream* out) { *out << that.text(); }

std::string io_case_name(const testing::TestParamInfo<Case>& info) { return info.param.text(); }

class IoFaults : public testing::TestWithParam<Case> {
 protected:
  FaultRun::Trouble trouble_at(std::uint64_t number) {
    const Case& that = GetParam();
    return {.begin = [=, this] { vfs.fail_at(number, that.fault, that.lasting); },
            .heal = [this] { vfs.heal(); },
            .has_come = [this] { return !vfs.failed().empty(); },
            .vfs = vfs.name(),
            .may_corrupt = that.fault == IoFault::part};
  }

  FaultVfs vfs{"faults"};
  const CrashCheck check;
};

TEST_P(IoFaults, ShowAsErrorsLeaveNothingHalfDoneAndPass) {
  const std::uint64_t stride = scale().full ? 1 : GetParam().stride;
  std::size_t points = 0;
  std::size_t closed = 0;
  bool hit = true;
  for (std::uint64_t number = 1 + scale().seed % stride; hit; number += stride) {
    FaultRun run(check, trouble_at(number));
    ASSERT_EQ(run.find_fault(GetParam().then), "")
        << GetParam().text() << " at call " << number << " (" << vfs.failed() << ")";
    hit = run.was_hit();
    points += hit ? 1 : 0;
    closed += run.was_closed() ? 1 : 0;
  }
  std::cout << fmt::format("{}: {} fault points, {} closed the store, seed {}, 0 violations\n",
                           GetParam().text(), points, closed, scale().seed);
  RecordProperty("points", static_cast<int>(points));
  EXPECT_GT(points, 10U);
}

INSTANTIATE_TEST_SUITE_P(Every, IoFaults,
                         testing::Values(Case{IoFault::error, Lasting::once, Then::goes_on, 7},
                                         Case{IoFault::error, Lasting::for_ever, Then::goes_on, 13},
                                         Case{IoFault::error, Lasting::for_ever, Then::reopens, 13},
                                         Case{IoFault::full, Lasting::once, Then::goes_on, 3},
                                         Case{IoFault::full, Lasting::for_ever, Then::goes_on, 5},
                                         Case{IoFault::full, Lasting::for_ever, Then::reopens, 5},
                                         Case{IoFault::part, Lasting::once, Then::goes_on, 5},
                                         Case{IoFault::part, Lasting::for_ever, Then::goes_on, 7},
                                         Case{IoFault::part, Lasting::for_ever, Then::reopens, 7}),
                         io_case_name);

}  // namespace
}  // namespace perdure
