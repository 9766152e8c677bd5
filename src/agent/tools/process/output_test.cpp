// What of a program's output is told, and in which pieces.

#include <cstddef>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <string_view>
#include <vector>

#include "perdure/runtime/tool.hpp"
#include "runtime/api/session.hpp"
#include "tools/process/program.hpp"

namespace perdure {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class LineTellerTest : public testing::Test {
 protected:
  std::vector<std::string> heard;
  const ToolProgress progress{[this](std::string_view line) { heard.emplace_back(line); }};
  LineSplitter lines{progress};
};

TEST_F(LineTellerTest, ALineIsToldOnceItEnds) {
  lines.add("on");
  EXPECT_THAT(heard, IsEmpty());
  lines.add("e\ntwo\nthr");
  EXPECT_THAT(heard, ElementsAre("one", "two"));
  lines.end();
  EXPECT_THAT(heard, ElementsAre("one", "two", "thr"));
}

TEST_F(LineTellerTest, ACarriageReturnEndsOneAndEmptyOnesAreNotTold) {
  lines.add("10%\r20%\r\n\n\r30%\n");
  lines.end();
  EXPECT_THAT(heard, ElementsAre("10%", "20%", "30%"));
}

TEST_F(LineTellerTest, ALongLineIsCutAndItsRestIsNoLine) {
  const std::string line = std::string(progress_line_bytes_max - 1, 'x') + "äöü and so on";
  lines.add(line.substr(0, 100));
  lines.add(line.substr(100) + "\nnext\n");
  EXPECT_THAT(heard, ElementsAre(std::string(progress_line_bytes_max - 1, 'x'), "next"));
}

TEST_F(LineTellerTest, SoManyAreToldAndNoMore) {
  for (std::size_t i = 0; i < progress_lines_max + 10; ++i) lines.add("a\n");
  lines.add("rest");
  lines.end();
  EXPECT_EQ(heard.size(), progress_lines_max);
}

}  // namespace
}  // namespace perdure
