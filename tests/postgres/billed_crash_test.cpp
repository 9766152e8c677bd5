// Money through the crash of a server that takes the process along: what was to be synced later is lost,
// and the log alone would say that a request was not sent which was. Also through a proper restart,
// which loses nothing.

#include <algorithm>
#include <cstdint>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

#include "agent/billed_agent.hpp"
#include "doubles/fake_clock.hpp"
#include "doubles/must.hpp"
#include "doubles/postgres_server.hpp"
#include "perdure/agent/agent.hpp"
#include "perdure/core/id.hpp"
#include "perdure/store/store.hpp"

namespace perdure {
namespace {

using billed::Death;
using billed::Manner;

class BilledCrash : public testing::Test {
 protected:
  BilledCrash() { server_.start(); }

  [[nodiscard]] PostgresServer& server() { return server_; }
  [[nodiscard]] std::unique_ptr<Store> open() {
    return must(open_store(server_.address() + "?schema=billed", {.clock = &clock_}));
  }

  /// Process and server die; false: the turn was over before. `how` also says what is lost with them.
  bool try_death(const Manner& manner, const Death& death, PostgresServer::Stop how) {
    const auto die = [&] {
      server_.stop(how);
      server_.start();
    };
    const billed::Left left = billed::have_turn(*open(), clock_, manner, death, die);
    if (!left.is_dead) return false;
    const std::int64_t reserved = how == PostgresServer::Stop::fast ? 0 : left.most_reserved;
    EXPECT_EQ(billed::end_turn(*open(), clock_, manner, left, left.most + reserved), "")
        << manner.name << " died after commit " << death.commits << ", request " << death.requests;
    return true;
  }

  /// The server crashes with that request under way, and the process goes on; false: the turn was over before.
  bool try_server_crash(const Manner& manner, int request) {
    bool is_reached = false;
    billed::BilledModel model(manner);
    model.on_arrival = [&](int number) {
      if (number != request) return;
      is_reached = true;
      server_.stop(PostgresServer::Stop::immediate);
      server_.start();
    };
    const auto store = open();
    billed::BilledAgent agent(*store, model, clock_, random_ids());
    if (auto ran = agent.run("go"); !ran || ran->stop != TurnStop::completed) agent.finish();
    EXPECT_EQ(billed::find_fault(agent.money().recorded(), model.bills(), 0), "")
        << manner.name << ", request " << request;
    return is_reached;
  }

  static std::vector<Manner> manners(const std::vector<std::string>& names) {
    auto found = billed::every_manner();
    std::erase_if(found, [&](const Manner& manner) {
      return std::ranges::find(names, manner.name) == names.end();
    });
    return found;
  }

 private:
  FakeClock clock_;
  // Nothing reaches the disk before somebody waits for it.
  PostgresServer server_{{"wal_writer_delay=10000"}};
};

TEST_F(BilledCrash, WithAnyRequestUnderWayRecordsWhatWasBilled) {
  for (const Manner& manner : manners({"reads", "changes", "long_reads", "reads_stopped"})) {
    int requests = 1;
    while (!HasFailure() &&
           try_death(manner, {.requests = requests}, PostgresServer::Stop::immediate)) {
      ++requests;
    }
    EXPECT_GT(requests, 1) << manner.name;
  }
}

TEST_F(BilledCrash, OfTheServerAloneRecordsWhatWasBilled) {
  for (const Manner& manner : manners({"reads", "changes", "reads_stopped"})) {
    int request = 1;
    while (!HasFailure() && try_server_crash(manner, request)) ++request;
    EXPECT_GT(request, 1) << manner.name;
  }
}

TEST_F(BilledCrash, AfterAnyCommitRecordsWhatWasBilled) {
  for (const Manner& manner : manners({"reads"})) {
    int commits = 1;
    while (!HasFailure() && try_death(manner, {.commits = commits}, PostgresServer::Stop::killed)) {
      ++commits;
    }
    EXPECT_GT(commits, 2) << manner.name;
  }
}

TEST_F(BilledCrash, OfTheProcessAloneWithAProperRestartOfTheServerLosesNothing) {
  for (const Manner& manner : manners({"reads"})) {
    int commits = 1;
    while (!HasFailure() && try_death(manner, {.commits = commits}, PostgresServer::Stop::fast)) {
      ++commits;
    }
    EXPECT_GT(commits, 2) << manner.name;
  }
}

TEST_F(BilledCrash, ChangesTheLossTokenAndAProperRestartDoesNot) {
  const auto restart = [&](PostgresServer::Stop how) {
    server().stop(how);
    server().start();
    return must(open()->loss_token());
  };
  const std::string first = must(open()->loss_token());

  EXPECT_EQ(restart(PostgresServer::Stop::fast), first);
  const std::string second = restart(PostgresServer::Stop::immediate);
  EXPECT_NE(second, first);
  EXPECT_EQ(restart(PostgresServer::Stop::fast), second);
  EXPECT_NE(restart(PostgresServer::Stop::killed), second);
}

}  // namespace
}  // namespace perdure
