// Turns and steps by their numbers.

#include <gtest/gtest.h>
#include <optional>
#include <string>

#include "contract/backends.hpp"
#include "dispatch/turns_fixture.hpp"
#include "doubles/must.hpp"
#include "perdure/core/error.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/log.hpp"
#include "runtime/api/read.hpp"

namespace perdure {
namespace {

class StepsTest : public TurnsTest {
 protected:
  /// Turn 1 has three steps: a call is asked for, made, and spoken of; turn 2 has one.
  StepsTest() {
    begin({tool("send")});
    must(session->record_response(asks_for({{"send", "{}"}})));
    must(session->run_calls());
    must(session->record_request({.reserve_micros = 7}));
    must(session->record_response(assistant_says("sent"), {.cost_micros = 5}));
    must(session->record_request({}, user_says("thanks")));
    must(session->record_response(assistant_says("welcome")));
  }

  std::string last_words(std::int64_t turn, std::optional<std::int64_t> step) {
    const Position at = must(find_step(*store, id, turn, step));
    const State state = must(read_state(*store, id, Point::position(at)));
    const Message& last = state.transcript.back().message;
    if (const auto* result = std::get_if<ToolResultBlock>(&last.blocks.front())) {
      return result->content;
    }
    return text_of(last);
  }
};

TEST_P(StepsTest, ATurnIsFoundAfterItsLastWord) {
  EXPECT_EQ(last_words(1, std::nullopt), "sent");
  EXPECT_EQ(last_words(2, std::nullopt), "welcome");
}

TEST_P(StepsTest, AStepIsFoundAfterItself) {
  EXPECT_EQ(last_words(1, 2), "send done");
  EXPECT_EQ(last_words(1, 3), "sent");
  EXPECT_EQ(last_words(2, 1), "welcome");
}

TEST_P(StepsTest, StepZeroIsWhereTheTurnWasOpened) {
  EXPECT_EQ(last_words(1, 0), "go");
  EXPECT_EQ(last_words(2, 0), "thanks");
}

TEST_P(StepsTest, WhatWasPaidForAStepIsKnownAfterIt) {
  const Position at = must(find_step(*store, id, 1, 3));
  EXPECT_EQ(must(read_state(*store, id, Point::position(at))).budget.totals.spent, 5);
}

TEST_P(StepsTest, WhatTheNextRequestReservedIsNotOfTheStep) {
  const Position at = must(find_step(*store, id, 1, 2));
  EXPECT_EQ(must(read_state(*store, id, Point::position(at))).budget.totals.reserved, 0);
}

TEST_P(StepsTest, WhatIsNotThereIsNotFound) {
  for (const auto& [turn, step] : std::vector<std::pair<int, std::optional<std::int64_t>>>{
           {3, std::nullopt}, {3, 0}, {1, 4}, {2, 2}, {0, std::nullopt}}) {
    const auto found = find_step(*store, id, turn, step);
    ASSERT_FALSE(found) << turn;
    EXPECT_EQ(found.error().code, ErrorCode::not_found);
  }
}

INSTANTIATE_TEST_SUITE_P(Every, StepsTest, testing::ValuesIn(every_backend()),
                         [](const auto& named) { return named.param.name; });

}  // namespace
}  // namespace perdure
