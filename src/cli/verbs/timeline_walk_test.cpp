// Whose time is whose: a request may be written down with the calls whose results it will tell.

#include "verbs/timeline_walk.hpp"

#include <chrono>
#include <gtest/gtest.h>
#include <vector>

#include "perdure/core/time.hpp"
#include "perdure/runtime/call_records.hpp"
#include "perdure/runtime/message.hpp"
#include "perdure/store/entry.hpp"
#include "perdure/store/ledger.hpp"
#include "state/log_of.hpp"

namespace perdure::cli {
namespace {

using std::chrono::seconds;

TEST(TimelineWalk, AModelsTimeBeginsWhenItsCallsHaveEnded) {
  LogOf log;
  const auto at = [&](Position position, int second) {
    log.entries().at(position - 1).at = Timestamp(seconds(second));
    return position;
  };
  const Position response = at(log.ask({"c"}), 10);
  const Position call = at(log.intend(response, 0), 10);
  at(log.add("calls", "attempt", to_json(Attempted{.call = call, .number = 1})), 10);
  at(log.add("requests", "request", to_json(Request{})), 10);
  at(log.answer("c", call, CallState::succeeded), 14);
  at(log.say(assistant_says("Done.")), 15);

  TimelineWalk walk;
  std::vector<TimelineRow> rows;
  for (const Entry& entry : log.entries()) {
    if (auto row = walk.take(entry)) rows.push_back(*row);
  }
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[1].took, Duration(seconds(4)));
  EXPECT_EQ(rows[2].took, Duration(seconds(1)));
  EXPECT_EQ(rows[2].offset, Duration(seconds(4)));
}

}  // namespace
}  // namespace perdure::cli
