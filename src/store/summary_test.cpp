// Totals and what is derived from a session's row.

#include <cstdint>
#include <gtest/gtest.h>

#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"

namespace perdure {
namespace {

TEST(Tally, AddsFieldByField) {
  Tally tally{1, 2, 3, 4, 5};
  tally += {10, 20, 30, 40, -50};
  EXPECT_EQ(tally, (Tally{11, 22, 33, 44, -45}));
}

TEST(Tally, OfADamagedRowRunsOverWithoutHarm) {
  Tally tally{.turns = INT64_MAX, .cost_micros = INT64_MIN};
  tally += {.turns = 1, .cost_micros = -1};
  EXPECT_EQ(tally.turns, INT64_MIN);
  EXPECT_EQ(tally.cost_micros, INT64_MAX);
}

TEST(SessionSummary, IsInterruptedWhileActiveAndNobodyAliveRunsIt) {
  SessionSummary session;
  EXPECT_TRUE(session.is_interrupted());
  session.holder.emplace();
  EXPECT_TRUE(session.is_interrupted());
  session.holder->alive = true;
  EXPECT_FALSE(session.is_interrupted());
  session.holder.reset();
  session.status = Status::waiting;
  EXPECT_FALSE(session.is_interrupted());
}

}  // namespace
}  // namespace perdure
