// A checkpointer whose store does not know whether a commit happened.

#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <variant>

#include "book/book_session.hpp"
#include "book/unsure_store.hpp"
#include "contract/backends.hpp"
#include "doubles/must.hpp"
#include "perdure/adapters/checkpointer.hpp"
#include "perdure/core/error.hpp"
#include "perdure/runtime/tool.hpp"

namespace perdure {
namespace {

constexpr int for_long = 100;

class UnsureCommit : public BookSession {
 protected:
  UnsureCommit() {
    book = std::make_unique<Checkpointer>(unsure, CheckpointerOptions{.clock = &clock});
    must(book->start_session(session));
  }
  ~UnsureCommit() override { book.reset(); }

  UnsureStore unsure{*store};
};

TEST_P(UnsureCommit, IsRepeatedAndSeldomSeen) {
  unsure.be_unsure(Fate::happened, 1);
  EXPECT_EQ(save({said("user", "a")}), 1U);
  unsure.be_unsure(Fate::not_happened, 1);
  EXPECT_EQ(save({said("user", "a"), said("user", "b")}), 2U);
  EXPECT_EQ(entries("transcript").size(), 2U);
}

TEST_P(UnsureCommit, ThatHoldsOnStopsEverythingElse) {
  unsure.be_unsure(Fate::happened, for_long);
  EXPECT_EQ(code_of(book->save_checkpoint(session, {.transcript = list({"1"})})),
            ErrorCode::commit_unknown);
  EXPECT_EQ(code_of(book->record_tool_call_issued(session, email("ann"))),
            ErrorCode::commit_unknown);
  EXPECT_EQ(code_of(book->load_latest(session)), ErrorCode::commit_unknown);
  unsure.be_unsure(Fate::known, 0);
  EXPECT_EQ(must(book->load_latest(session))->version, 1U);
  EXPECT_EQ(save({"1", "2"}), 2U);
  EXPECT_EQ(entries("transcript").size(), 2U) << "what was unsure is there once";
}

TEST_P(UnsureCommit, ThatDidNotHappenHappensWhenItIsAskedAbout) {
  unsure.be_unsure(Fate::not_happened, for_long);
  EXPECT_EQ(code_of(book->save_checkpoint(session, {.transcript = list({"1"})})),
            ErrorCode::commit_unknown);
  unsure.be_unsure(Fate::known, 0);
  EXPECT_EQ(save({"1", "2"}), 2U);
  EXPECT_EQ(entries("transcript").size(), 2U);
}

TEST_P(UnsureCommit, OfACallNobodyWasToldToRunIsNotInDoubt) {
  for (const Fate fate : {Fate::happened, Fate::not_happened}) {
    const auto call = email(fate == Fate::happened ? "ann" : "bob");
    unsure.be_unsure(fate, for_long);
    ASSERT_EQ(code_of(book->record_tool_call_issued(session, call)), ErrorCode::commit_unknown);
    unsure.be_unsure(Fate::known, 0);
    const auto answer = issue(call);
    ASSERT_TRUE(std::holds_alternative<MayRun>(answer)) << "it may be asked for again";
    EXPECT_TRUE(std::holds_alternative<Pending>(issue(call))) << "and is given once";
    must(book->record_tool_call_result(session, std::get<MayRun>(answer).call, Succeeded{"sent"}));
  }
}

TEST_P(UnsureCommit, OfACallNobodyAsksForAgainIsInDoubtAfterADeath) {
  unsure.be_unsure(Fate::happened, for_long);
  ASSERT_EQ(code_of(book->record_tool_call_issued(session, email("ann"))),
            ErrorCode::commit_unknown);
  unsure.be_unsure(Fate::known, 0);
  restart();
  must(book->start_session(session));
  EXPECT_TRUE(std::holds_alternative<Pending>(issue(email("ann"))));
}

TEST_P(UnsureCommit, OfAResultMayBeRepeated) {
  const Position call = run(email("ann"));
  unsure.be_unsure(Fate::happened, for_long);
  EXPECT_EQ(code_of(book->record_tool_call_result(session, call, Succeeded{"sent"})),
            ErrorCode::commit_unknown);
  unsure.be_unsure(Fate::known, 0);
  EXPECT_TRUE(book->record_tool_call_result(session, call, Succeeded{"sent"}));
  EXPECT_EQ(std::get<Completed>(issue(email("ann"))).result, "sent");
}

INSTANTIATE_TEST_SUITE_P(EveryBackend, UnsureCommit, testing::ValuesIn(every_backend()),
                         [](const auto& backend) { return backend.param.name; });

}  // namespace
}  // namespace perdure
