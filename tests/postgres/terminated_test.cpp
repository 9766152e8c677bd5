// The server's side of a connection ends in the middle of a commit, at every place of it: an
// administrator terminates the process, or cancels what it does. The commit is there once, and the
// caller gets its receipt.

#include <chrono>
#include <fmt/format.h>
#include <future>
#include <gtest/gtest.h>
#include <memory>
#include <string>

#include "crash/load.hpp"
#include "doubles/pg_script.hpp"
#include "doubles/postgres_cluster.hpp"
#include "doubles/postgres_wait.hpp"
#include "perdure/core/error.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/store.hpp"
#include "postgres/proxied.hpp"

namespace perdure {
namespace {

class Terminated : public testing::TestWithParam<PgPlace> {
 protected:
  std::future<Result<Receipt>> commit(Version turn) {
    return std::async(std::launch::async, [this, turn] {
      return store->commit(lease, turn_batch(lease.session, turn));
    });
  }

  Proxied proxied;
  std::unique_ptr<Store> store = proxied.open();
  Lease lease = own_session(*store, "session");
};

TEST_P(Terminated, InTheMiddleOfACommitThatIsThereOnce) {
  proxied.proxy.plan({.at = GetParam(), .deed = PgDeed::hold, .of = commit_words});
  auto committing = commit(1);
  ASSERT_TRUE(proxied.proxy.wait_for_plans());
  const auto backend = proxied.proxy.held_backend().value();

  ASSERT_EQ(cluster().one(fmt::format("SELECT pg_terminate_backend({})", backend)), "t");
  wait_for_answer(cluster().address(),
                  fmt::format("SELECT count(*) FROM pg_stat_activity WHERE pid = {}", backend),
                  "0");
  proxied.proxy.go_on();

  const auto receipt = committing.get();
  ASSERT_TRUE(receipt.has_value()) << receipt.error().message;
  EXPECT_EQ(receipt->version, 1U);
  EXPECT_EQ(find_wrong_turn(*store, lease.session, 1), "");
  EXPECT_TRUE(commit(2).get().has_value());
}

INSTANTIATE_TEST_SUITE_P(Every, Terminated, testing::ValuesIn(every_pg_place),
                         [](const auto& named) { return std::string(to_string(named.param)); });

// Somebody else has the session's row, so that the commit is surely under way.
class CommitThatWaits : public Terminated {
 protected:
  CommitThatWaits() {
    other.execute(fmt::format("BEGIN; SELECT FROM {}.session FOR UPDATE", proxied.schema.name()));
    committing = commit(1);
    const std::string who = fmt::format(
        "FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%{}%commit(%'",
        proxied.schema.name());
    wait_for_answer(cluster().address(), "SELECT count(*) " + who, "1");
    backend = cluster().one("SELECT pid " + who);
  }

  PostgresSql other{cluster().address()};
  std::future<Result<Receipt>> committing;
  std::string backend;
};

TEST_F(CommitThatWaits, IsRepeatedWhenSomebodyCancelsIt) {
  cluster().execute(fmt::format("SELECT pg_cancel_backend({})", backend));
  other.execute("ROLLBACK");

  const auto receipt = committing.get();

  ASSERT_TRUE(receipt.has_value()) << receipt.error().message;
  EXPECT_EQ(find_wrong_turn(*store, lease.session, 1), "");
}

TEST_F(CommitThatWaits, IsRepeatedWhenItsBackendIsTerminated) {
  cluster().execute(fmt::format("SELECT pg_terminate_backend({})", backend));
  other.execute("ROLLBACK");

  const auto receipt = committing.get();

  ASSERT_TRUE(receipt.has_value()) << receipt.error().message;
  EXPECT_EQ(find_wrong_turn(*store, lease.session, 1), "");
}

// The first commit was cut off from its client and still waits at the server; the second comes
// after it. Whichever is first, there is one.
TEST_F(CommitThatWaits, AndItsRepetitionAreOneCommit) {
  proxied.proxy.cut_all();
  wait_for_answer(
      cluster().address(),
      fmt::format("SELECT count(*) >= 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND "
                  "query LIKE '%{}%commit(%' AND pid <> {}",
                  proxied.schema.name(), backend),
      "t");
  other.execute("ROLLBACK");

  const auto receipt = committing.get();

  ASSERT_TRUE(receipt.has_value()) << receipt.error().message;
  EXPECT_EQ(receipt->version, 1U);
  EXPECT_EQ(find_wrong_turn(*store, lease.session, 1), "");
}

// A client that is stopped, or cut off by a network that does not say so, after its statement has
// run and before it may commit. Its session cannot be written meanwhile, and nobody waits for ever;
// all others can.
TEST(Stalled, ACommitHoldsUpItsOwnSessionOnly) {
  Proxied proxied;
  const auto stalled = proxied.open();
  const Lease lease = own_session(*stalled, "session");
  const auto others = proxied.look({.write_wait = std::chrono::milliseconds(500)});
  const Lease other = own_session(*others, "another session");
  proxied.proxy.plan({.at = PgPlace::before_sync, .deed = PgDeed::hold, .of = commit_words});
  auto committing = std::async(
      std::launch::async, [&] { return stalled->commit(lease, turn_batch(lease.session, 1)); });
  ASSERT_TRUE(proxied.proxy.wait_for_plans());

  EXPECT_TRUE(others->commit(other, turn_batch(other.session, 1)).has_value());
  EXPECT_TRUE(others->sessions().read(lease.session).has_value());
  const auto receipt = others->commit(lease, turn_batch(lease.session, 1));
  ASSERT_FALSE(receipt.has_value());
  EXPECT_EQ(receipt.error().code, ErrorCode::unavailable) << receipt.error().message;
  EXPECT_TRUE(others->commit(other, turn_batch(other.session, 2)).has_value());
  proxied.proxy.go_on();

  EXPECT_TRUE(committing.get().has_value());
  EXPECT_TRUE(others->commit(lease, turn_batch(lease.session, 1)).has_value());
  EXPECT_EQ(find_wrong_turn(*others, lease.session, 1), "");
}

}  // namespace
}  // namespace perdure
