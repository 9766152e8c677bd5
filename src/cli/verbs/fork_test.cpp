// What a fork says of a parent that did much after the point.

#include <algorithm>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <string>

#include "doubles/must.hpp"
#include "fixture.hpp"
#include "perdure/core/id.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/state.hpp"

namespace perdure::cli {
namespace {

TEST(ForkTest, ManyEffectsLeaveRoomOnAScreenForTheRest) {
  CliFixture fixture;
  {
    Session session = must(fixture.runtime().create({.id = must(SessionId::parse("ses_4many"))}));
    must(session.record_request({.model = "scripted"}, user_says("Write to all")));
    Message calls = assistant_says("I do.");
    for (int each = 0; each < 23; ++each) {
      calls.blocks.emplace_back(ToolCallBlock{.id = fmt::format("toolu_{}", each),
                                              .name = "mail.send",
                                              .args = fmt::format(R"({{"order": {}}})", each)});
    }
    must(session.record_response(std::move(calls)));
    must(session.run_calls());
  }
  const auto lines = [](const std::string& text) { return std::ranges::count(text, '\n'); };
  const Said screen = fixture.run({"fork", "ses_4many@1.0", "--dry-run"}, 80);
  EXPECT_EQ(screen.exit, 0) << screen.err;
  EXPECT_EQ(lines(screen.out), 2 + 20 + 1) << screen.out;
  EXPECT_TRUE(screen.out.ends_with("  and 3 more calls; --json lists them all\n")) << screen.out;
  EXPECT_EQ(lines(fixture.run({"fork", "ses_4many@1.0", "--dry-run"}).out), 2 + 23);
}

}  // namespace
}  // namespace perdure::cli
