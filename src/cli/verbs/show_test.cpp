// What is suggested next for a session that nobody got far with.

#include <gtest/gtest.h>
#include <memory>
#include <string>

#include "doubles/must.hpp"
#include "fixture.hpp"
#include "perdure/core/id.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"

namespace perdure::cli {
namespace {

class ShowTest : public testing::Test {
 protected:
  std::string next() {
    const std::string card = fixture.run({"show", id.text()}).out;
    const std::size_t at = card.find("next");
    return at == std::string::npos ? card : card.substr(at);
  }

  CliFixture fixture;
  SessionId id = must(SessionId::parse("ses_4new"));
};

TEST_F(ShowTest, OneInWhichNothingWasSaidNeedsAMessage) {
  const auto runtime = must(Runtime::start(
      fixture.store(), {.renews_itself = false, .clock = &fixture.clock, .ids = &fixture.ids}));
  {
    const Session begun = must(runtime->create({.id = id}));
  }
  EXPECT_EQ(next(), "next      perdure resume ses_4new \"…\"\n");
  Session session = must(runtime->open(id));
  must(session.append(user_says("Hello")));
  EXPECT_EQ(next().find("\"…\""), std::string::npos);
}

}  // namespace
}  // namespace perdure::cli
