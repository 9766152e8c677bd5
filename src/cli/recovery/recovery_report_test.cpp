// What a dry run says about a model that owes an answer.

#include <gtest/gtest.h>
#include <string>

#include "doubles/must.hpp"
#include "fixture.hpp"
#include "perdure/core/id.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/state.hpp"

namespace perdure::cli {
namespace {

class DryRunTest : public testing::Test {
 protected:
  std::string dry_run() { return fixture.run({"resume", "ses_4owes", "--dry-run"}).out; }

  CliFixture fixture;
  Session session = must(fixture.runtime().create({.id = must(SessionId::parse("ses_4owes"))}));
};

TEST_F(DryRunTest, ARequestThatFailedIsMadeOnce) {
  must(session.record_request({.model = "scripted"}, user_says("Hello")));
  must(session.abandon_request("nobody listens", false));
  EXPECT_TRUE(dry_run().contains("The model is asked: it has not answered yet.\n")) << dry_run();
}

TEST_F(DryRunTest, ARequestThatIsAnsweredIsNot) {
  must(session.record_request({.model = "scripted"}, user_says("Hello")));
  must(session.record_response(assistant_says("Hi."), {}));
  EXPECT_FALSE(dry_run().contains("The model is asked")) << dry_run();
}

}  // namespace
}  // namespace perdure::cli
