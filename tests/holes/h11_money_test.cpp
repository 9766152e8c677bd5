// Holes 11 and 18: what was paid for is kept and counted, also beyond the limit and across
// processes.

#include <gtest/gtest.h>

#include "contract/backends.hpp"
#include "doubles/must.hpp"
#include "holes/hole_session.hpp"
#include "perdure/core/error.hpp"
#include "perdure/runtime/state.hpp"

namespace perdure {
namespace {

class Hole11 : public HoleSession {};
class Hole18 : public HoleSession {};

TEST_P(Hole11, AResponseThatBreaksTheBudgetIsKeptAndThenTheBudgetStops) {
  begin({}, {}, {.budget_micros = 1'000});
  must(session->record_request({.reserve_micros = 300}, user_says("go")));
  must(session->record_response(assistant_says("the answer"), {.cost_micros = 5'000}));
  restart_and_resume();

  EXPECT_EQ(text_of(session->state().transcript.back().message), "the answer");
  EXPECT_EQ(session->state().budget.totals.spent, 5'000);
  EXPECT_EQ(code_of(session->record_request({.reserve_micros = 1})), ErrorCode::conflict);
}

TEST_P(Hole18, ALimitHoldsAcrossThreeProcesses) {
  begin({}, {}, {.budget_micros = 1'000});
  for (int process = 0; process < 3; ++process) {
    must(session->record_request({.reserve_micros = 300}, user_says("go")));
    must(session->record_response(assistant_says("done"), {.cost_micros = 300}));
    restart_and_resume();
  }
  EXPECT_EQ(session->state().budget.totals.spent, 900);
  EXPECT_EQ(code_of(session->record_request({.reserve_micros = 300}, user_says("go"))),
            ErrorCode::conflict);
}

INSTANTIATE_TEST_SUITE_P(EveryBackend, Hole11, testing::ValuesIn(every_backend()), backend_name);
INSTANTIATE_TEST_SUITE_P(EveryBackend, Hole18, testing::ValuesIn(every_backend()), backend_name);

}  // namespace
}  // namespace perdure
