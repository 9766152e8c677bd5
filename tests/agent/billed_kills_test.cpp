// Money through the death of the process: killed after any of its commits, or while any of its requests
// is under way, on every backend. Nothing that was committed is lost, so what is recorded is what was
// billed, and what the one request that nobody knows of can have cost.

#include <gtest/gtest.h>
#include <tuple>
#include <vector>

#include "agent/billed_agent.hpp"
#include "contract/backends.hpp"
#include "doubles/fake_clock.hpp"
#include "doubles/must.hpp"
#include "perdure/store/store.hpp"

namespace perdure {
namespace {

using billed::Death;
using billed::Manner;

class BilledKills : public testing::TestWithParam<std::tuple<Backend, Manner>> {
 protected:
  /// Whether it died; then what was wrong in the end is a failure of the test.
  static bool try_death(const Death& death) {
    const auto& [backend, manner] = GetParam();
    const StorePlace place(backend);
    FakeClock clock;
    const auto store = must(open_store(place.location(), {.clock = &clock}));
    const billed::Left left = billed::have_turn(*store, clock, manner, death);
    if (!left.is_dead) return false;
    // A request may have been prepared, and its process died before it was sent.
    EXPECT_EQ(billed::end_turn(*store, clock, manner, left, left.most), "")
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
