// Whose time is whose: a request may be written down with the calls whose results it will tell.

#include "context/timeline_walk.hpp"

#include <chrono>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "perdure/core/time.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "runtime/api/records.hpp"
#include "runtime/api/state_details.hpp"
#include "state/log_fixture.hpp"

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

TEST(TimelineWalk, SaysWhatALetterDid) {
  LogOf log;
  const Position call = log.intend(log.ask({"c"}), 0);
  const std::string about = R"({"call": )" + std::to_string(call) + R"(, "who": "ana", )";
  log.add("inbox", "approve", about + R"("allow": true, "why": ""})");
  log.add("inbox", "approve", about + R"("allow": false, "why": "no money"})");
  log.add("inbox", "resolve", about + R"("decision": "retry", "why": "not seen"})");
  log.add("inbox", "pause", R"({"who": "ana", "why": ""})");
  log.add("inbox", "ended_worker", R"("wrk_1")");
  log.add("inbox", "approve", "no JSON");
  log.answer("c", call, CallState::denied);
  log.add("inbox", "resolve", about + R"("decision": "failed", "why": "no"})");

  TimelineWalk walk;
  std::vector<std::string> said;
  for (const Entry& entry : log.entries()) {
    const auto row = walk.take(entry);
    if (row && row->kind == "inbox") said.push_back(row->what);
  }
  EXPECT_EQ(said, (std::vector<std::string>{"approved by ana", "denied by ana: no money",
                                            "resolved as retry by ana: not seen", "paused by ana",
                                            "the process that ran it has ended", "approve",
                                            "resolved as failed by ana (too late): no"}));
}

TEST(TimelineWalk, SaysWhoStoppedItAndNotThatItRestsBetweenTurns) {
  LogOf log;
  int second = 0;
  const auto add = [&](const std::string& channel, const std::string& kind,
                       const std::string& text) {
    log.add(channel, kind, text);
    log.entries().back().at = Timestamp(seconds(second));
  };
  add("transcript", "message", to_json(assistant_says("Done.")));
  log.entries().back().tally.turns = 1;
  add("status", "session_waiting", R"({"who": "wrk_1", "why": "the next message"})");
  ++second;
  add("status", "session_resumed", R"({"who": "dispatcher", "why": "it goes on"})");
  add("inbox", "pause", R"({"who": "ana", "why": "lunch"})");
  add("status", "session_paused", R"({"who": "ana", "why": "lunch"})");
  ++second;
  add("status", "session_resumed", R"({"who": "ben", "why": "lunch is over"})");
  add("status", "session_waiting", R"({"who": "dispatcher", "why": "approval"})");

  TimelineWalk walk;
  std::vector<std::string> said;
  for (const Entry& entry : log.entries()) {
    const auto row = walk.take(entry);
    if (row && row->kind != "model") said.push_back(row->kind + ": " + row->what);
  }
  EXPECT_EQ(said, (std::vector<std::string>{"inbox: paused by ana: lunch",
                                            "status: resumed by ben: lunch is over",
                                            "status: waiting by dispatcher: approval"}));
}

}  // namespace
}  // namespace perdure::cli
