// Batches of several sessions in one statement: each is committed as it would be alone, and who is
// refused is refused alone. A first commit is held on its way; whoever comes meanwhile becomes one
// group.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <future>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "doubles/must.hpp"
#include "doubles/pg_proxy.hpp"
#include "doubles/pg_script.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "perdure/store/upkeep.hpp"
#include "postgres/client/address.hpp"
#include "postgres/client/client.hpp"
#include "postgres/client/connection.hpp"
#include "postgres/client/watcher.hpp"
#include "postgres/operations/roles.hpp"
#include "postgres/proxied.hpp"
#include "store/api/limits.hpp"

namespace perdure::postgres {
namespace {

class Together : public testing::Test {
 protected:
  using Outcome = std::future<Result<std::string>>;
  static constexpr Position turn_entries = 4;

  ~Together() override { proxied.proxy.go_on(); }

  /// Something of everything that goes with others.
  static Batch turn(const Lease& lease, std::uint64_t number) {
    const auto entry = [&](const char* channel, Body body) {
      return NewEntry{.channel = channel, .kind = "k", .body = std::move(body)};
    };
    Batch batch{.id = BatchId::parse(fmt::format("{} {}", lease.session.text(), number)).value(),
                .expected_head = (number - 1) * turn_entries,
                .entries = {entry("transcript", Body::from_text("{\"a\":1}")),
                            entry("transcript", Body::from_bytes({"\0\xff", 2})),
                            entry("plan", Body::from_text("[]")),
                            entry("transcript", Body::from_text(lease.session.text()))}};
    batch.entries[1].at = Timestamp(Duration(1000 + static_cast<std::int64_t>(number)));
    batch.entries[2].fold = Fold::replace;
    batch.entries[3].tally = {.turns = 1, .steps = 2, .tokens_in = 3, .cost_micros = 5};
    if (number % 2 == 1) {
      batch.checkpoint = NewCheckpoint{.reason = "turn", .label = lease.session.text()};
    }
    return batch;
  }
  Outcome begin(const Lease& lease, Batch batch) {
    const std::size_t before = committer.waiting();
    auto outcome = std::async(std::launch::async, [this, lease, batch = std::move(batch)] {
      return committer.commit(commission_of(access, lease, batch), Sync::now);
    });
    while (committer.waiting() == before) std::this_thread::yield();
    return outcome;
  }
  Outcome hold() {
    proxied.proxy.plan({.at = PgPlace::before_request, .deed = PgDeed::hold, .of = commit_words});
    auto outcome = std::async(std::launch::async, [this, batch = turn(held_, ++held_turns_)] {
      return committer.commit(commission_of(access, held_, batch), Sync::now);
    });
    EXPECT_TRUE(proxied.proxy.wait_for_plans());
    return outcome;
  }
  void expect_sound() const {
    const auto report = must(store->upkeep().check());
    EXPECT_TRUE(report.is_sound()) << (report.damage.empty() ? "" : report.damage[0].what);
  }

  Proxied proxied;
  std::unique_ptr<Store> store = proxied.look();
  Counters counters;
  Pool pool{parse_address(proxied.location()).value(), counters};
  Committer committer{pool, std::chrono::minutes(5), 1};
  Client client{parse_address(proxied.location()).value(), {}};
  Watcher watcher{client, false};
  const Access access{.client = client, .watcher = watcher, .ids = random_ids()};

 private:
  const Lease held_ = own_session(*store, "held");
  std::uint64_t held_turns_ = 0;
};

TEST_F(Together, SeveralSessionsAreCommittedInOneRoundTripEachAsIfAlone) {
  std::vector<Lease> leases;
  leases.reserve(5);
  for (int i = 0; i < 5; ++i) {
    leases.push_back(own_session(*store, fmt::format("session {}", i)));
    if (i > 0) must(store->commit(leases.back(), turn(leases.back(), 1)));
  }
  auto held = hold();
  std::vector<Outcome> outcomes;
  outcomes.reserve(leases.size());
  for (const Lease& lease : leases) {
    outcomes.push_back(begin(lease, turn(lease, &lease == leases.data() ? 1 : 2)));
  }
  const auto before = counters.round_trips.load();
  proxied.proxy.go_on();
  EXPECT_TRUE(held.get());
  for (Outcome& outcome : outcomes) EXPECT_TRUE(outcome.get());
  EXPECT_EQ(counters.round_trips - before, 1U);
  EXPECT_EQ(committer.transactions(), 2U);

  for (const Lease& lease : leases) {
    const std::uint64_t turns = &lease == leases.data() ? 1 : 2;
    const auto last = must(store->commit(lease, turn(lease, turns + 1)));
    EXPECT_EQ(last.first, turns * turn_entries + 1);
    const auto summary = must(store->sessions().read(lease.session));
    EXPECT_EQ(summary.tally.turns, static_cast<std::int64_t>(turns) + 1);
    EXPECT_EQ(summary.tally.cost_micros, 5 * (static_cast<std::int64_t>(turns) + 1));
    const auto log = must(store->log().read(lease.session, {}));
    EXPECT_EQ(log.back().body.bytes(), lease.session.text());
  }
  expect_sound();
}

TEST_F(Together, WhoIsRefusedIsToldWhyAndTheOthersAreCommitted) {
  const Lease good = own_session(*store, "good");
  const Lease again = own_session(*store, "again");
  Lease outdated = own_session(*store, "outdated");
  const Lease ahead = own_session(*store, "ahead");
  Lease missing = good;
  missing.session = SessionId::parse("missing").value();
  ++outdated.fence;
  const auto receipt = must(store->commit(again, turn(again, 1)));
  auto held = hold();
  auto is_good = begin(good, turn(good, 1));
  auto is_again = begin(again, turn(again, 1));
  auto is_outdated = begin(outdated, turn(outdated, 1));
  auto is_ahead = begin(ahead, turn(ahead, 2));
  auto is_missing = begin(missing, turn(missing, 1));
  auto is_twice = begin(good, turn(good, 2));
  proxied.proxy.go_on();

  EXPECT_TRUE(held.get());
  EXPECT_TRUE(is_good.get());
  EXPECT_EQ(is_again.get().value().front(), '\1');
  EXPECT_EQ(is_outdated.get().error().code, ErrorCode::lease_lost);
  EXPECT_EQ(is_ahead.get().error().code, ErrorCode::conflict);
  EXPECT_EQ(is_missing.get().error().code, ErrorCode::not_found);
  // The second one of a session, in the same group, comes after the first or finds it missing.
  const auto twice = is_twice.get();
  EXPECT_TRUE(twice || twice.error().code == ErrorCode::conflict);
  EXPECT_EQ(must(store->sessions().read(again.session)).head, receipt.head);
  EXPECT_EQ(must(store->sessions().read(ahead.session)).head, 0U);
  expect_sound();
}

// Its bodies are within their limits, and nothing of it is sent.
TEST_F(Together, ABatchThatIsTooLargeForOneStatementIsRefused) {
  const Lease lease = own_session(*store, "large");
  Batch batch = turn(lease, 1);
  const Body largest = Body::from_bytes(std::string(body_bytes_max, '\xfe'));
  batch.entries.assign(4, {.channel = "transcript", .kind = "k", .body = largest});

  const auto refused = store->commit(lease, batch);

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(must(store->sessions().read(lease.session)).head, 0U);
}

TEST_F(Together, AGroupWhoseConnectionIsCutHappensOnceWhereverThatIs) {
  std::vector<Lease> leases;
  leases.reserve(3);
  for (int i = 0; i < 3; ++i) leases.push_back(own_session(*store, fmt::format("session {}", i)));
  std::uint64_t number = 0;
  for (const PgPlace place : every_pg_place) {
    ++number;
    auto held = hold();
    std::vector<Outcome> outcomes;
    outcomes.reserve(leases.size());
    for (const Lease& lease : leases) outcomes.push_back(begin(lease, turn(lease, number)));
    proxied.proxy.plan({.at = place, .of = commit_words});
    proxied.proxy.go_on();
    EXPECT_TRUE(held.get());
    for (Outcome& outcome : outcomes) {
      const auto committed = outcome.get();
      EXPECT_TRUE(committed) << to_string(place) << ": " << committed.error().message;
    }
    EXPECT_TRUE(proxied.proxy.wait_for_plans());
  }
  for (const Lease& lease : leases) {
    EXPECT_EQ(must(store->sessions().read(lease.session)).head, number * turn_entries);
  }
  expect_sound();
}

}  // namespace
}  // namespace perdure::postgres
