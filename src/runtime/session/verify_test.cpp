// Asking about a call in doubt: what is recorded, and that nothing else is done.

#include <gtest/gtest.h>
#include <string>
#include <variant>

#include "contract/backends.hpp"
#include "dispatch/turns_fixture.hpp"
#include "doubles/must.hpp"
#include "perdure/core/error.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"
#include "runtime/api/session.hpp"

namespace perdure {
namespace {

class VerifyTest : public TurnsTest {
 protected:
  // A call in doubt, and one after it that was not made.
  void leave_in_doubt(bool can_be_asked = true) {
    verdict = CannotTell{"the bank is closed"};
    Tool paying = tool("pay");
    if (can_be_asked) {
      paying.verify = [this](const VerifyContext&) {
        ++asked;
        return verdict;
      };
    }
    behaviour["pay"] = [](const CallContext&) { return Doubtful{"the line is dead"}; };
    begin({paying, tool("other")});
    must(session->record_response(asks_for({{"pay", "{}"}, {"other", "{}"}})));
    must(session->run_calls());
    asked = 0;
  }

  Verdict verdict;
  int asked = 0;
};

TEST_P(VerifyTest, WhatTookEffectHasEndedAndNothingElseIsDone) {
  leave_in_doubt();
  verdict = Landed{.content = "paid: rf_1"};

  const Verdict said = must(verify_call(*session, first_call()));

  EXPECT_TRUE(std::holds_alternative<Landed>(said));
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(state_of(first_call()), CallState::succeeded);
  EXPECT_EQ(must(store->ledger().read(id, first_call())).who, "verify");
  EXPECT_EQ(result_of(2), "paid: rf_1");
  EXPECT_EQ(runs["pay"], 1);
  EXPECT_EQ(runs["other"], 0);
}

TEST_P(VerifyTest, WhatDidNotOrCannotBeToldStaysInDoubt) {
  for (const Verdict& answer : {Verdict(NotLanded{}), Verdict(CannotTell{"the bank is closed"})}) {
    leave_in_doubt();
    verdict = answer;
    const auto head = session->state().head;

    must(verify_call(*session, first_call()));

    EXPECT_EQ(asked, 1);
    EXPECT_EQ(state_of(first_call()), CallState::in_doubt);
    EXPECT_EQ(session->state().head, head + 1) << "the answer is in the log";
    EXPECT_EQ(runs["pay"], 1);
    runs.clear();
  }
}

TEST_P(VerifyTest, AToolThatCannotBeAskedIsAnError) {
  leave_in_doubt(false);

  const auto refused = verify_call(*session, first_call());

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::unsupported);
  EXPECT_EQ(state_of(first_call()), CallState::in_doubt);
}

TEST_P(VerifyTest, ACallThatIsNotInDoubtIsAnError) {
  leave_in_doubt();
  const auto not_made = must(store->ledger().list({.session = id})).back().position;

  EXPECT_EQ(verify_call(*session, not_made).error().code, ErrorCode::conflict);
  EXPECT_EQ(verify_call(*session, not_made + 1).error().code, ErrorCode::not_found);
  EXPECT_EQ(asked, 0);
}

INSTANTIATE_TEST_SUITE_P(Every, VerifyTest, testing::ValuesIn(every_backend()),
                         [](const auto& named) { return named.param.name; });

}  // namespace
}  // namespace perdure
