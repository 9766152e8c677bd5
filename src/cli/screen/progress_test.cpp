// A bar is for who watches and waits, and leaves nothing behind.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <gtest/gtest.h>
#include <initializer_list>
#include <sstream>
#include <string>

#include "doubles/fake_clock.hpp"
#include "perdure/store/upkeep.hpp"
#include "screen/screen.hpp"

namespace perdure::cli {
namespace {

using std::chrono::milliseconds;

class ProgressBarTest : public testing::Test {
 protected:
  /// What is written, of work that tells a step after each of the waits.
  std::string bars_of(const Screen::Traits& traits, std::initializer_list<int> waits) {
    std::ostringstream out;
    Screen screen(out, traits);
    {
      ProgressBar bar(screen, clock, "copying");
      const Progress follow = bar.follow();
      std::uint64_t done = 0;
      for (const int wait : waits) {
        clock.advance(milliseconds(wait));
        EXPECT_TRUE(follow({.done = ++done, .total = 4}));
      }
      drawn = out.str();
    }
    return out.str();
  }

  FakeClock clock;
  std::string drawn;  ///< Before its end.
};

TEST_F(ProgressBarTest, WorkThatIsDoneAtOnceShowsNone) {
  EXPECT_EQ(bars_of({.is_terminal = true}, {0, 100, 199}), "");
}

TEST_F(ProgressBarTest, WhoWaitsSeesHowFarItIsAndThenNothing) {
  const std::string all = bars_of({.is_terminal = true}, {300});
  EXPECT_TRUE(drawn.starts_with("\rcopying ███████░")) << drawn;
  EXPECT_TRUE(drawn.ends_with("░  25%\x1b[K")) << drawn;
  EXPECT_EQ(all, drawn + "\r\x1b[K");
}

TEST_F(ProgressBarTest, ItIsNotDrawnMoreOftenThanOneCanSee) {
  bars_of({.is_terminal = true}, {300, 50, 49, 1});
  EXPECT_EQ(std::ranges::count(drawn, '\r'), 2) << drawn;
  EXPECT_TRUE(drawn.contains("100%")) << drawn;
}

TEST_F(ProgressBarTest, NothingOfItIsInAPipe) {
  EXPECT_EQ(bars_of({.is_terminal = false}, {300, 300, 300}), "");
}

TEST_F(ProgressBarTest, ItFitsIntoANarrowTerminal) {
  bars_of({.is_terminal = true, .columns = 20}, {300});
  EXPECT_EQ(drawn, "\rcopying █░░░░░  25%\x1b[K");
}

TEST_F(ProgressBarTest, ATerminalThatTakesNoEscapesShowsNone) {
  EXPECT_EQ(bars_of({.is_terminal = true, .takes_escapes = false}, {400, 400}), "");
}

}  // namespace
}  // namespace perdure::cli
