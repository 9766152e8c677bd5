// What a resume is foretold to do about a model that owes an answer.

#include <gtest/gtest.h>
#include <string>

#include "doubles/must.hpp"
#include "fixture.hpp"
#include "perdure/core/id.hpp"
#include "perdure/runtime/conversation.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/session.hpp"

namespace perdure::cli {
namespace {

class OutlookTest : public testing::Test {
 protected:
  std::string outlook() { return fixture.run({"resume", "ses_4owes", "--dry-run"}).out; }

  CliFixture fixture;
  Session session = must(fixture.runtime().create({.id = must(SessionId::parse("ses_4owes"))}));
};

TEST_F(OutlookTest, ARequestThatFailedIsMadeOnce) {
  must(session.ask({.model = "scripted"}, user_says("Hello")));
  must(session.give_up("nobody listens", false));
  EXPECT_TRUE(outlook().contains("The model is asked: it has not answered yet.\n")) << outlook();
}

TEST_F(OutlookTest, ARequestThatIsAnsweredIsNot) {
  must(session.ask({.model = "scripted"}, user_says("Hello")));
  must(session.answer(assistant_says("Hi."), {}));
  EXPECT_FALSE(outlook().contains("The model is asked")) << outlook();
}

}  // namespace
}  // namespace perdure::cli
