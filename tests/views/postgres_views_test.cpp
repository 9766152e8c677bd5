// What a person sees with psql: the views of views_test.cpp, over a store in PostgreSQL.

#include <chrono>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/api/text.hpp"
#include "doubles/fake_clock.hpp"
#include "doubles/must.hpp"
#include "doubles/postgres_cluster.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/store.hpp"

namespace perdure {
namespace {

class PostgresViews : public testing::Test {
 protected:
  PostgresViews() { must(store->ownership().enroll({.id = worker, .host = "here", .pid = 1})); }

  /// The column of the view's rows, in order, joined by a bar; `NULL` for none.
  [[nodiscard]] std::string shown(const std::string& columns, const std::string& rest) const {
    return cluster().one(fmt::format(
        "SELECT string_agg(coalesce(({})::text, 'NULL'), '|') FROM (SELECT * FROM {}.{}) v",
        columns, schema.name(), rest));
  }

  Lease create(const NewSession& session) {
    must(store->sessions().create(session));
    return must(store->ownership().acquire(session.id, worker));
  }
  Receipt commit(const Lease& lease, Batch batch) {
    batch.id = mint<BatchTag>(random_ids());
    batch.expected_head = must(store->sessions().read(lease.session)).head;
    clock.advance(std::chrono::seconds(1));
    return must(store->commit(lease, batch));
  }

  static NewEntry said(const std::string& text) {
    return {.channel = "transcript", .kind = "entry", .body = Body::from_text(text)};
  }
  static NewEntry plan(const std::string& text) {
    return {
        .channel = "plan", .kind = "entry", .fold = Fold::replace, .body = Body::from_text(text)};
  }

  PostgresSchema schema;
  FakeClock clock{timestamp_from_iso8601("2026-03-01T10:00:00.250Z").value()};
  WorkerId worker = mint<WorkerTag>(random_ids());
  std::unique_ptr<Store> store = must(open_store(schema.location(), {.clock = &clock}));
  const NewCheckpoint turn{.reason = "turn"};
};

TEST_F(PostgresViews, ShowSessionsWithTheirTimesAndStatus) {
  const Lease trip = create({.id = SessionId::parse("trip").value()});
  commit(trip, {.status = StatusChange{.status = Status::waiting, .wait_reason = "you"}});
  EXPECT_EQ(
      shown("session_id || ' ' || created_at || ' ' || updated_at || ' ' || status", "sessions"),
      "trip 2026-03-01T10:00:00.250Z 2026-03-01T10:00:01.250Z waiting");
}

TEST_F(PostgresViews, ShowEveryVersionAsItWasOnItsOwnLine) {
  const Lease trip = create({.id = SessionId::parse("trip").value()});
  NewEntry a = said(R"({"text":"a"})");
  a.tally.cost_micros = 1'500'000;
  commit(trip, {.entries = {a, plan(R"({"do": 1})")}, .checkpoint = turn});
  commit(trip, {.entries = {said("not JSON"), plan(R"({"do": 2})")}, .checkpoint = turn});
  commit(
      trip,
      {.branch_from = Point::version(1), .entries = {said(R"({"text":"d"})")}, .checkpoint = turn});

  EXPECT_EQ(
      shown("version || ' ' || transcript_json || ' ' || plan_json || ' ' || budget_spent_usd",
            "checkpoints ORDER BY version"),
      R"(1 [{"text":"a"}] {"do": 1} 1.5|2 [{"text":"a"},"not JSON"] {"do": 2} 1.5|)"
      R"(3 [{"text":"a"},{"text":"d"}] {"do": 1} 1.5)");
}

TEST_F(PostgresViews, ShowCallsWithWhatStandsInBlocksOfMessages) {
  const Lease trip = create({.id = SessionId::parse("trip").value()});
  commit(trip,
         {.entries = {said(R"({"blocks":[{"kind":"tool_call","id":"c","args":{"city":"Oslo"}}]})")},
          .calls = {Intend{.call = 1, .args = 1, .tool = "weather", .provider_id = "c"},
                    Dispatch{.call = 1}}});
  EXPECT_EQ(shown("call_id || ' ' || args_json || ' ' || status", "tool_calls"),
            R"(c {"city":"Oslo"} issued)");

  Settle done{.call = 1, .state = CallState::succeeded, .result = 2};
  commit(trip, {.entries = {said("sunny")}, .calls = {done}});
  EXPECT_EQ(shown("result_text || ' ' || status || ' ' || completed_at", "tool_calls"),
            "sunny completed 2026-03-01T10:00:02.250Z");
}

TEST_F(PostgresViews, ShowAnErasedBodyAsNothing) {
  const Lease trip = create({.id = SessionId::parse("trip").value()});
  commit(trip, {.entries = {said("1"), said("\"two\"")}, .checkpoint = turn});
  must(store->upkeep().erase(trip.session, {1}));
  EXPECT_EQ(shown("transcript_json", "checkpoints"), R"([null,"two"])");
  EXPECT_EQ(shown("body", "entries ORDER BY position"), R"(NULL|"two")");
}

}  // namespace
}  // namespace perdure
