// Money through the crash of a server that takes the process along: what was to be synced later is lost,
// and the log alone would say that a request was not sent which was. Also through a proper restart,
// which loses nothing.

#include <algorithm>
#include <cstdint>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "agent/billed_agent.hpp"
#include "doubles/fake_clock.hpp"
#include "doubles/must.hpp"
#include "doubles/postgres_server.hpp"
#include "doubles/watched_store.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/id_source.hpp"
#include "perdure/store/open.hpp"

namespace perdure {
namespace {

using billed::Bill;
using billed::BilledAgent;
using billed::BilledModel;
using billed::Manner;

/// After so many commits of the turn, or with the request of that number under way.
struct Death {
  int commits = 0;
  int requests = 0;
};

class BilledCrash : public testing::Test {
 protected:
  BilledCrash() { server_.start(); }

  [[nodiscard]] PostgresServer& server() { return server_; }
  [[nodiscard]] std::unique_ptr<Store> open() {
    return must(open_store(server_.address() + "?schema=billed", {.clock = &clock_}));
  }

  /// Process and server die; false: the turn was over before. `how` also says what is lost with them.
  bool try_death(const Manner& manner, const Death& death, PostgresServer::Stop how) {
    std::vector<Bill> bills;
    SessionId id;
    bool is_dead = false;
    std::int64_t lost = 0;
    {
      const auto store = open();
      WatchedStore watched(*store);
      BilledModel model(manner);
      BilledAgent agent(watched, model, clock_, random_ids());
      id = agent.id();
      const auto die = [&] {
        is_dead = true;
        server_.stop(how);
        server_.start();
      };
      int commits = 0;
      watched.on_commit([&](const Lease& lease, const Batch& batch) -> Result<Receipt> {
        if (is_dead) return fail(ErrorCode::unavailable, "the process is dead");
        auto receipt = store->commit(lease, batch);
        if (++commits == death.commits) die();
        return receipt;
      });
      model.on_arrival = [&](int number) {
        if (number == death.requests) die();
      };
      [[maybe_unused]] const auto ended = agent.run("go");
      bills = model.bills();
      lost = model.most();
      if (how != PostgresServer::Stop::fast) lost += agent.most_reserved();
    }
    if (!is_dead) return false;
    const auto store = open();
    Manner later = manner;
    later.breaks_off_at = later.is_stopped_at = 0;
    BilledModel model(later);
    BilledAgent agent(*store, model, clock_, random_ids(), id);
    agent.finish();
    bills.insert(bills.end(), model.bills().begin(), model.bills().end());
    EXPECT_EQ(billed::find_fault(agent.money().recorded(), bills, lost), "")
        << manner.name << " died after commit " << death.commits << ", request " << death.requests;
    return true;
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
    return must(open()->upkeep().loss_token());
  };
  const std::string first = must(open()->upkeep().loss_token());

  EXPECT_EQ(restart(PostgresServer::Stop::fast), first);
  const std::string second = restart(PostgresServer::Stop::immediate);
  EXPECT_NE(second, first);
  EXPECT_EQ(restart(PostgresServer::Stop::fast), second);
  EXPECT_NE(restart(PostgresServer::Stop::killed), second);
}

}  // namespace
}  // namespace perdure
