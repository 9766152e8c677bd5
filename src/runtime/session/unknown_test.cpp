// Commits whose answer is lost: each is found out about before anything else is written.

#include <gtest/gtest.h>
#include <memory>
#include <set>
#include <string>

#include "doubles/counting_ids.hpp"
#include "doubles/fake_clock.hpp"
#include "doubles/must.hpp"
#include "doubles/watched_store.hpp"
#include "perdure/core/error.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/store.hpp"
#include "runtime/api/session.hpp"

namespace perdure {
namespace {

class UnknownCommitTest : public testing::Test {
 protected:
  /// From now on commits get this answer; those that are `made` are made all the same.
  void answer(ErrorCode code, bool made) {
    store.on_commit([this, code, made](const Lease& lease, const Batch& batch) -> Result<Receipt> {
      asked.insert(batch.id.text());
      if (made) must(behind->commit(lease, batch));
      return fail(code, "the answer is lost");
    });
  }
  void answer_truly() { store.on_commit({}); }

  std::size_t in_the_log() {
    return must(behind->log().read(session.id(), {.channel = "transcript"})).size();
  }

  FakeClock clock;
  CountingIds ids;
  std::unique_ptr<Store> behind = must(open_store("memory:", {.clock = &clock, .ids = &ids}));
  WatchedStore store{*behind};
  std::unique_ptr<Runtime> runtime = must(Runtime::start(
      store, {.host = "here", .pid = 7, .renews_itself = false, .clock = &clock, .ids = &ids}));
  Session session = must(runtime->create());
  std::set<std::string> asked;
};

TEST_F(UnknownCommitTest, IsRepeatedUnderTheSameId) {
  answer(ErrorCode::commit_unknown, true);
  const auto unknown = session.append(user_says("one"));
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, ErrorCode::commit_unknown);
  EXPECT_EQ(asked.size(), 1U);
  EXPECT_EQ(in_the_log(), 1U);
}

TEST_F(UnknownCommitTest, IsTakenInBeforeTheNextOne) {
  answer(ErrorCode::commit_unknown, true);
  ASSERT_FALSE(session.append(user_says("one")));
  answer_truly();
  ASSERT_TRUE(session.append(user_says("two")));
  ASSERT_EQ(session.state().transcript.size(), 2U);
  EXPECT_EQ(text_of(session.state().transcript.at(0).message), "one");
  EXPECT_EQ(in_the_log(), 2U);
}

TEST_F(UnknownCommitTest, IsMadeBeforeTheNextOneIfItWasNot) {
  answer(ErrorCode::commit_unknown, false);
  ASSERT_FALSE(session.append(user_says("one")));
  answer_truly();
  ASSERT_TRUE(session.append(user_says("two")));
  EXPECT_EQ(in_the_log(), 2U);
}

TEST_F(UnknownCommitTest, StaysUnknownWhileTheStoreDoesNotAnswer) {
  answer(ErrorCode::commit_unknown, true);
  ASSERT_FALSE(session.append(user_says("one")));
  answer(ErrorCode::unavailable, false);
  const auto away = session.append(user_says("two"));
  ASSERT_FALSE(away);
  EXPECT_EQ(away.error().code, ErrorCode::unavailable);
  answer_truly();
  ASSERT_TRUE(session.append(user_says("three")));
  ASSERT_EQ(session.state().transcript.size(), 2U);
  EXPECT_EQ(text_of(session.state().transcript.at(1).message), "three");
  EXPECT_EQ(in_the_log(), 2U);
}

TEST_F(UnknownCommitTest, OfAResponseIsTakenInBeforeItIsGivenAgain) {
  ASSERT_TRUE(session.record_request({.reserve_micros = 10}, user_says("go")));
  answer(ErrorCode::commit_unknown, true);
  ASSERT_FALSE(session.record_response(assistant_says("done"), {.cost_micros = 7}));
  answer_truly();
  const auto again = session.record_response(assistant_says("done"), {.cost_micros = 7});
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, ErrorCode::conflict);
  EXPECT_EQ(in_the_log(), 2U);
  EXPECT_EQ(session.state().budget.totals.spent, 7);
}

TEST_F(UnknownCommitTest, OfASpawnIsTakenInBeforeItIsRepeated) {
  const ChildSpec spec{.id = must(SessionId::parse("child")), .grant_micros = 5};
  answer(ErrorCode::commit_unknown, true);
  ASSERT_FALSE(spawn(session, spec));
  answer_truly();
  EXPECT_TRUE(spawn(session, spec));
  EXPECT_EQ(session.state().budget.totals.granted, 5);
}

TEST_F(UnknownCommitTest, OfACountIsTakenInBeforeTheNextCount) {
  answer(ErrorCode::commit_unknown, false);
  ASSERT_FALSE(session.count("things"));
  answer_truly();
  EXPECT_EQ(session.count("things"), 2);
}

}  // namespace
}  // namespace perdure
