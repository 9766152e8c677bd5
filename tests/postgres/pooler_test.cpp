// Behind PgBouncer in transaction mode, with fewer connections than clients: the main path of the
// contract, a turn of a session, and waiting for changes.

#include <cstddef>
#include <fmt/format.h>
#include <future>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

#include "contract/describe.hpp"
#include "crash/load.hpp"
#include "crash/script.hpp"
#include "doubles/fake_clock.hpp"
#include "doubles/must.hpp"
#include "doubles/pgbouncer.hpp"
#include "doubles/postgres_cluster.hpp"
#include "perdure/core/id.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "postgres/proxied.hpp"

namespace perdure {
namespace {

using namespace std::chrono_literals;

class Pooled : public testing::Test {
 protected:
  [[nodiscard]] std::unique_ptr<Store> open(const OpenOptions& options = {}) const {
    return must(open_store(fmt::format("{}?schema={}", bouncer.address(), schema.name()), options));
  }

  const PostgresSchema schema;
  const PgBouncer bouncer{std::stoi(cluster().one("SHOW port")), 2};
};

TEST_F(Pooled, EveryKindOfWriteIsAnsweredAsWithoutAPooler) {
  std::vector<std::string> answers[2];
  for (const bool pooled : {false, true}) {
    const PostgresSchema other;
    FakeClock clock;
    OpenOptions options;
    options.clock = &clock;
    const auto store = pooled ? open(options) : must(open_store(other.location(), options));
    const auto worker = WorkerId::parse("writer").value();
    must(store->ownership().enroll({.id = worker, .host = "here", .pid = 1}));
    Script script(*store, clock, worker, Load::small);
    script.run([&](std::size_t, const Action& action) {
      answers[pooled ? 1 : 0].push_back(action.name + ": " + describe(action.answer));
    });
  }
  EXPECT_EQ(answers[1], answers[0]);
}

TEST_F(Pooled, ManyClientsShareAFewConnections) {
  constexpr int clients = 6;
  constexpr Version turns = 20;
  (void)open();
  std::vector<std::future<std::string>> ends;
  ends.reserve(clients);
  for (int i = 0; i < clients; ++i) {
    ends.push_back(std::async(std::launch::async, [this, i] {
      const auto store = open();
      const Lease lease = own_session(*store, fmt::format("session {}", i));
      for (Version turn = 1; turn <= turns; ++turn) {
        const auto receipt = store->commit(lease, turn_batch(lease.session, turn));
        if (!receipt) return receipt.error().message;
      }
      return find_wrong_turn(*store, lease.session, turns);
    }));
  }
  for (auto& end : ends) EXPECT_EQ(end.get(), "");
}

TEST_F(Pooled, ASessionTakesATurn) {
  Tool pay{.name = "pay", .side_effects = SideEffects{.mutate = true}};
  pay.run = [](const CallContext&) -> ToolOutcome { return Succeeded{.content = "paid"}; };
  const auto store = open();
  SessionId id;
  {
    const auto runtime =
        must(Runtime::start(*store, {.lease_time = 3s, .tools = must(Tools::of({pay}))}));
    Session session = must(runtime->create());
    id = session.id();
    must(session.record_request({}, user_says("a chair, please")));
    must(session.record_response(
        {.role = Role::assistant,
         .blocks = {ToolCallBlock{.id = "c1", .name = "pay", .args = "{}"}}}));
    EXPECT_EQ(must(session.run_calls()).run, 1U);
    must(session.record_request());
    must(session.record_response(
        {.role = Role::assistant, .blocks = {TextBlock{.text = "it is yours"}}}));
  }
  const auto other = open();
  const auto runtime = must(Runtime::start(*other, {}));

  const Resumed resumed = must(runtime->resume(id));

  EXPECT_EQ(resumed.session.state().transcript.size(), 4U);
  EXPECT_EQ(resumed.report.calls.run, 0U);
}

TEST_F(Pooled, AChangeByAnotherIsNoticed) {
  const auto store = open();
  const auto other = open();
  const auto since = must(store->change_number());
  auto waiting =
      std::async(std::launch::async, [&] { return store->wait_for_change(since, 5min); });

  (void)own_session(*other, "session");

  const auto number = waiting.get();
  ASSERT_TRUE(number.has_value()) << number.error().message;
  EXPECT_GT(*number, since);
}

// Behind a pooler nobody can listen, and it is enough to find that out once.
TEST_F(Pooled, OneWhoWaitsOftenConnectsOnce) {
  const auto logins = [&] {
    const std::string log = bouncer.log();
    int count = 0;
    for (auto at = log.find("login attempt"); at != std::string::npos;
         at = log.find("login attempt", at + 1)) {
      ++count;
    }
    return count;
  };
  const int before = logins();
  const auto store =
      must(open_store(fmt::format("{}?schema={}&pool=1", bouncer.address(), schema.name())));
  const auto since = must(store->change_number());
  // One for all that is asked, one to listen.
  for (int i = 0; i < 300 && logins() < before + 2; ++i) {
    (void)must(store->wait_for_change(since, 100ms));
  }

  for (int i = 0; i < 5; ++i) (void)must(store->wait_for_change(since, 100ms));

  EXPECT_EQ(logins(), before + 2);
}

}  // namespace
}  // namespace perdure
