// What tools tell of themselves reaches the observer of their session, one line at a time, while they
// run; and cannot do anything to them.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <gtest/gtest.h>
#include <latch>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "loop/loop_fixture.hpp"
#include "perdure/agent/agent.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"
#include "runtime/api/session.hpp"

namespace perdure {
namespace {

class LoopProgressTest : public LoopTest {
 protected:
  LoopProgressTest() { script(asking_for({"look"}) + "," + saying("Seen.")); }

  void tell(const std::string& tool, std::vector<std::string> lines) {
    behaviour[tool] = [lines = std::move(lines)](const CallContext& call) -> ToolOutcome {
      for (const std::string& line : lines) call.progress(line);
      return Succeeded{"done"};
    };
  }
};

TEST_F(LoopProgressTest, IsToldBetweenTheStartOfACallAndItsReturn) {
  tell("look", {"half", "almost"});
  begin();

  EXPECT_EQ(run("look").stop, TurnStop::completed);

  ASSERT_EQ(heard.lines.size(), 2U);
  EXPECT_EQ(heard.lines[0].tool, "look");
  EXPECT_EQ(heard.lines[0].line, "half");
  EXPECT_EQ(heard.lines[1].line, "almost");
  const std::size_t after = heard.lines[1].after;
  EXPECT_TRUE(std::holds_alternative<CallStarted>(heard.events.at(after - 1)));
  EXPECT_TRUE(std::holds_alternative<CallReturned>(heard.events.at(after)));
}

TEST_F(LoopProgressTest, OfCallsThatRunAtOnceIsToldOneAtATime) {
  script(asking_for({"look", "look", "look"}) + "," + saying("Seen."));
  std::latch all(3);
  constexpr std::size_t lines_of_each = 300;
  behaviour["look"] = [&](const CallContext& call) -> ToolOutcome {
    all.arrive_and_wait();
    for (std::size_t i = 0; i < lines_of_each; ++i) call.progress("a line");
    return Succeeded{"done"};
  };
  std::atomic<int> inside = 0;
  std::atomic<int> most = 0;
  heard.on_line = [&] {
    most = std::max(most.load(), ++inside);
    for (int i = 0; i < 50; ++i) std::this_thread::yield();
    --inside;
  };
  begin();

  EXPECT_EQ(run("look").stop, TurnStop::completed);

  EXPECT_EQ(most, 1);
  EXPECT_EQ(heard.lines.size(), 3 * lines_of_each);
}

TEST_F(LoopProgressTest, AnObserverThatThrowsAtItChangesNothing) {
  tell("look", {"half", "almost"});
  begin();
  heard.on_line = [] { throw std::runtime_error("no room"); };

  EXPECT_EQ(run("look").stop, TurnStop::completed);

  EXPECT_EQ(calls().at(0).state, CallState::succeeded);
  EXPECT_EQ(heard.lines.size(), 2U);
}

TEST_F(LoopProgressTest, IsNotWaitedForByTheToolThatTellsIt) {
  std::latch told(1);
  std::latch went_on(1);
  behaviour["look"] = [&](const CallContext& call) -> ToolOutcome {
    call.progress("half");
    told.wait();
    call.progress("almost");
    went_on.count_down();
    return Succeeded{"done"};
  };
  heard.on_line = [&, is_first = true]() mutable {
    if (!std::exchange(is_first, false)) return;
    told.count_down();
    went_on.wait();
  };
  begin();

  EXPECT_EQ(run("look").stop, TurnStop::completed);

  EXPECT_EQ(heard.lines.size(), 2U);
}

TEST_F(LoopProgressTest, OfOneCallIsLimited) {
  tell("look", std::vector<std::string>(progress_lines_max + 10, std::string(600, 'x') + "ä"));
  begin();

  run("look");

  ASSERT_EQ(heard.lines.size(), progress_lines_max);
  EXPECT_EQ(heard.lines[0].line, std::string(progress_line_bytes_max, 'x'));
}

TEST_F(LoopProgressTest, OfACallThatHasReturnedIsNotTold) {
  script(asking_for({"look"}) + "," + asking_for({"pay"}) + "," + saying("Paid."));
  ToolProgress kept;
  behaviour["look"] = [&](const CallContext& call) -> ToolOutcome {
    kept = call.progress;
    return Succeeded{"done"};
  };
  behaviour["pay"] = [&](const CallContext& call) -> ToolOutcome {
    kept("late");
    call.progress("in time");
    return Succeeded{"paid"};
  };
  begin();

  run("pay");
  kept("long after");

  ASSERT_EQ(heard.lines.size(), 1U);
  EXPECT_EQ(heard.lines[0].line, "in time");
}

}  // namespace
}  // namespace perdure
