// Which call a verb means by a session's name, and that it is found however the session stands, on every
// backend.

#include "context/calls.hpp"

#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "contract/backends.hpp"
#include "doubles/must.hpp"
#include "fixture.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/sessions.hpp"

namespace perdure::cli {
namespace {

const std::vector<Need> to_resolve = {Need::decision, Need::resume};

class PendingCallsTest : public testing::TestWithParam<Backend> {
 protected:
  PendingCallsTest() { fixture.fill(); }

  Result<Call> find(const std::string& text, const std::vector<Need>& needs) {
    return find_call(fixture.store(), text, needs);
  }

  CliFixture fixture{GetParam()};
};

TEST_P(PendingCallsTest, ACallIsNamedByPositionOrByBeingTheOnlyOnePending) {
  const Call call = must(find("ses_2b7x", to_resolve));
  EXPECT_EQ(call.tool, "pay.refund");
  EXPECT_EQ(must(find("ses_2b7x:" + std::to_string(call.position), to_resolve)), call);
  EXPECT_EQ(must(find("ses_5d0c", to_resolve)).state, CallState::dispatched);
  EXPECT_TRUE(find("ses_7k2m", to_resolve).error().message.contains("no call"));
  EXPECT_EQ(find("ses_7k2m:1", to_resolve).error().code, ErrorCode::not_found);
}

TEST_P(PendingCallsTest, WhatNobodyCanDecideYetIsNotMeant) {
  fixture.make_pair("ses_pair00");
  const auto pending = must(read_pending(fixture.store(), must(SessionId::parse("ses_pair00"))));
  ASSERT_EQ(pending.size(), 1U);
  EXPECT_EQ(must(find("ses_pair", to_resolve)).state, CallState::in_doubt);
}

TEST_P(PendingCallsTest, WhoeverWasAskedIsAskedWhileTheSessionIsPaused) {
  ASSERT_EQ(fixture.run({"pause", "ses_8e1f"}).exit, 0);
  EXPECT_EQ(must(find("ses_8e1f", {Need::approval})).tool, "mail.send");
  EXPECT_TRUE(fixture.run({"pending", "ses_8e1f"}).out.contains("ses_8e1f00:6"));
  EXPECT_EQ(fixture.run({"approve", "ses_8e1f"}).exit, 0);
  EXPECT_FALSE(fixture.run({"pending", "ses_8e1f"}).out.contains("ses_8e1f00:6"));
}

TEST_P(PendingCallsTest, WhatEndedWaitsForNobody) {
  ASSERT_EQ(fixture.run({"cancel", "ses_8e1f"}).exit, 0);
  EXPECT_FALSE(find("ses_8e1f", {Need::approval}));
}

INSTANTIATE_TEST_SUITE_P(Every, PendingCallsTest, testing::ValuesIn(surviving_backends()),
                         [](const auto& named) { return named.param.name; });

}  // namespace
}  // namespace perdure::cli
