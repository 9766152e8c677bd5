// Money through the death of the process: killed after any of its commits, or while any of its requests
// is under way, on every backend. Nothing that was committed is lost, so what is recorded is what was
// billed, and what the one request that nobody knows of can have cost.

#include <cstddef>
#include <cstdint>
#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "agent/billed_agent.hpp"
#include "contract/backends.hpp"
#include "doubles/fake_clock.hpp"
#include "doubles/must.hpp"
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

class BilledKills : public testing::TestWithParam<std::tuple<Backend, Manner>> {
 protected:
  [[nodiscard]] const Manner& manner() const { return std::get<1>(GetParam()); }

  /// Whether it died; then what was wrong in the end is a failure of the test.
  bool try_death(const Death& death) {
    const StorePlace place(std::get<0>(GetParam()));
    FakeClock clock;
    const auto store = must(open_store(place.location(), {.clock = &clock}));
    std::vector<Bill> bills;
    SessionId id;
    bool is_dead = false;
    std::int64_t most = 0;
    {
      WatchedStore watched(*store);
      BilledModel model(manner());
      BilledAgent agent(watched, model, clock, random_ids());
      id = agent.id();
      int commits = 0;
      watched.on_commit([&](const Lease& lease, const Batch& batch) -> Result<Receipt> {
        if (is_dead) return fail(ErrorCode::unavailable, "the process is dead");
        auto receipt = store->commit(lease, batch);
        is_dead = ++commits == death.commits;
        return receipt;
      });
      model.on_arrival = [&](int number) { is_dead = is_dead || number == death.requests; };
      [[maybe_unused]] const auto ended = agent.run("go");
      // A request may have been prepared, and its process died before it was sent.
      bills = model.bills();
      most = model.most();
    }
    if (!is_dead) return false;
    Manner later = manner();
    later.breaks_off_at = later.is_stopped_at = 0;
    BilledModel model(later);
    BilledAgent agent(*store, model, clock, random_ids(), id);
    agent.finish();
    bills.insert(bills.end(), model.bills().begin(), model.bills().end());
    EXPECT_EQ(billed::find_fault(agent.money().recorded(), bills, most), "")
        << "died after commit " << death.commits << ", request " << death.requests;
    return true;
  }
};

TEST_P(BilledKills, AfterAnyCommitRecordWhatWasBilled) {
  int commits = 1;
  while (!HasFailure() && try_death({.commits = commits})) ++commits;
  EXPECT_GT(commits, 2);
}

TEST_P(BilledKills, WithAnyRequestUnderWayRecordWhatWasBilled) {
  int requests = 1;
  while (!HasFailure() && try_death({.requests = requests})) ++requests;
  EXPECT_GT(requests, 1);
}

// A server takes ten times as long: it has one turn of each kind, with a model that does its part.
std::vector<std::tuple<Backend, Manner>> every_case() {
  std::vector<std::tuple<Backend, Manner>> cases;
  for (const Backend& backend : every_backend()) {
    for (const Manner& manner : billed::every_manner()) {
      const bool is_plain =
          manner.tells_usage && manner.breaks_off_at == 0 && manner.is_stopped_at == 0;
      if (backend.home != Home::schema || is_plain) cases.emplace_back(backend, manner);
    }
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Every, BilledKills, testing::ValuesIn(every_case()),
                         [](const auto& named) {
                           return std::get<0>(named.param).name + "_" +
                                  std::get<1>(named.param).name;
                         });

}  // namespace
}  // namespace perdure
