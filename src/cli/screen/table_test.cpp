// Tables fit a terminal: what may give way is cut, then columns are left out. In a pipe nothing is.

#include <cstddef>
#include <gtest/gtest.h>
#include <sstream>
#include <string>

#include "screen/screen.hpp"
#include "screen/text.hpp"

namespace perdure::cli {
namespace {

std::string printed(const Screen::Traits& traits) {
  std::ostringstream out;
  Screen screen(out, traits);
  Table table({{.heading = "ID"},
               {.heading = "TITLE", .least = 8},
               {.heading = "TURNS", .is_right = true, .drop = 1},
               {.heading = "TOKENS", .is_right = true, .drop = 2}});
  table.add({{"ses_1"}, {"A title that takes its room"}, {"12"}, {"3400"}});
  table.add({{"ses_22"}, {"Short"}, {"3"}, {"5"}});
  table.print(screen);
  return out.str();
}

TEST(TableTest, InAPipeNothingIsCut) {
  EXPECT_EQ(printed({.is_terminal = false, .columns = 20}),
            "ID      TITLE                        TURNS  TOKENS\n"
            "ses_1   A title that takes its room     12    3400\n"
            "ses_22  Short                            3       5\n");
}

TEST(TableTest, OnATerminalWithRoomNothingIsCutEither) {
  EXPECT_EQ(printed({.is_terminal = true, .columns = 50}), printed({.is_terminal = false}));
}

TEST(TableTest, WhatMayGiveWayIsCutToFit) {
  EXPECT_EQ(printed({.is_terminal = true, .columns = 40}),
            "ID      TITLE              TURNS  TOKENS\n"
            "ses_1   A title that tak…     12    3400\n"
            "ses_22  Short                  3       5\n");
}

TEST(TableTest, ThenColumnsAreLeftOutTheLeastWantedFirst) {
  EXPECT_EQ(printed({.is_terminal = true, .columns = 25}),
            "ID      TITLE     TURNS\n"
            "ses_1   A title…     12\n"
            "ses_22  Short         3\n");
}

TEST(TableTest, NoLineIsWiderThanTheTerminalWhereThatIsPossible) {
  for (std::size_t columns = 16; columns <= 60; ++columns) {
    std::istringstream lines(printed({.is_terminal = true, .columns = columns}));
    for (std::string line; std::getline(lines, line);) EXPECT_LE(width_of(line), columns) << line;
  }
}

}  // namespace
}  // namespace perdure::cli
