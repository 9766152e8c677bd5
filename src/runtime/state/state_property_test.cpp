// Properties of the fold, over logs that nobody would write.

#include <algorithm>
#include <cstddef>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <vector>

#include "perdure/runtime/state.hpp"
#include "perdure/store/log.hpp"
#include "runtime/api/state_details.hpp"
#include "state/log_fixture.hpp"
#include "state/random_log_fixture.hpp"

namespace perdure {
namespace {

// A state that was kept half-way, and went on live, is what resume makes of the whole log.
RC_GTEST_PROP(FoldProperty, GoesOnFromAnyMomentAsFromTheStart, ()) {
  LogOf log = any_log();
  const State whole = log.state();
  State live;
  for (const Entry& entry : log.entries()) {
    const State kept = live;
    fold(live, entry);
    State again = kept;
    fold(again, entry);
    RC_ASSERT(again == live);
  }
  RC_ASSERT(live == whole);
}

RC_GTEST_PROP(FoldProperty, WhatIsPassedOverChangesNothing, ()) {
  LogOf log = any_log();
  const State whole = log.state();
  State without;
  for (const Entry& entry : log.entries()) {
    const bool is_skipped = std::ranges::find(whole.details->skipped, entry.position,
                                              &Skipped::position) != whole.details->skipped.end();
    if (!is_skipped) fold(without, entry);
  }
  RC_ASSERT(without.details->skipped.empty());
  without.details->skipped = whole.details->skipped;
  without.head = whole.head;
  without.entries = whole.entries;
  RC_ASSERT(without == whole);
}

RC_GTEST_PROP(FoldProperty, PassesOverAllThatIsErasedOrDamaged, ()) {
  LogOf log = any_log();
  std::size_t unreadable = 0;
  for (const Entry& entry : log.entries()) {
    if (entry.condition != Condition::intact) ++unreadable;
  }
  const State state = log.state();
  const auto passed_over =
      std::ranges::count_if(state.details->skipped, [](const Skipped& skipped) {
        return skipped.reason == SkipReason::erased || skipped.reason == SkipReason::damaged;
      });
  RC_ASSERT(static_cast<std::size_t>(passed_over) == unreadable);
}

}  // namespace
}  // namespace perdure
