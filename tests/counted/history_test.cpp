// What upkeep and forks cost does not grow with what they do not touch: other forks,
// the history before a checkpoint, gaps that were read already. Counted are also the rows
// that SQLite walks and does not hand out (step_counter.hpp).

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <iostream>

#include "counted/counted_store.hpp"
#include "doubles/must.hpp"
#include "doubles/step_counter.hpp"

namespace perdure {
namespace {

class HistoryCost : public testing::Test {
 protected:
  template <class Work>
  std::uint64_t steps_of(Work work) {
    const auto before = steps.steps();
    work();
    return steps.steps() - before;
  }

  void fork(const SessionId& from, const std::string& name, Point at = Point::head()) {
    NewSession session{.id = must(SessionId::parse(name))};
    session.origin = NewSession::Origin{.session = from, .at = at};
    must(counted.store().sessions().create(session));
  }

  SqliteStepCounter steps;
  CountedStore counted{Durability::process};
};

// Entries of which each replaces the one before: all but those that forks see may go.
TEST_F(HistoryCost, ASliceOfAPruneDoesNotLookAtForks) {
  const auto most_of_a_slice = [&](const std::string& name, int forks) {
    const Lease lease = counted.open_session(name);
    counted.take_turns(lease, 200);
    for (int i = 0; i < forks; ++i) fork(lease.session, fmt::format("{} {}", name, i));
    std::uint64_t most = 0;
    std::uint64_t before = steps.steps();
    const auto pruned =
        must(counted.store().upkeep().prune(lease.session, {.last = 0}, [&](const Step&) {
          most = std::max(most, steps.steps() - before);
          before = steps.steps();
          return true;
        }));
    EXPECT_EQ(pruned.entries, 199U);
    return most;
  };
  const auto few = most_of_a_slice("few", 10);
  const auto many = most_of_a_slice("many", 1000);
  std::cout << fmt::format("steps of a slice: {} with 10 forks, {} with 1,000\n", few, many);

  EXPECT_LE(many, few + few / 20 + 50);
}

// Each turn writes the plan twice, and only the second is seen from its version.
TEST_F(HistoryCost, AReadOverGapsMeetsEachRowOnce) {
  const Lease lease = counted.open_session("gaps");
  Batch batch = counted.next_turn(lease.session);
  batch.entries = {batch.entries.back(), batch.entries.back()};
  const auto add_gaps = [&](std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
      batch.id = mint<BatchTag>(random_ids());
      batch.expected_head = must(counted.store().commit(lease, batch)).head;
    }
    EXPECT_EQ(must(counted.store().upkeep().prune(lease.session, {.last = 1'000'000})).entries,
              count);
  };
  struct Cost {
    std::uint64_t rows = 0;
    std::uint64_t steps = 0;
  };
  const auto cost_of = [&](Order order, std::size_t entries) {
    LogQuery query;
    query.order = order;
    const auto before = counted.counters().rows_read;
    Cost cost;
    cost.steps = steps_of(
        [&] { EXPECT_EQ(must(counted.store().log().read(lease.session, query)).size(), entries); });
    cost.rows = counted.counters().rows_read - before;
    return cost;
  };

  add_gaps(500);
  const Cost few = cost_of(Order::oldest_first, 500);
  add_gaps(1500);
  const Cost many = cost_of(Order::oldest_first, 2000);
  const Cost backwards = cost_of(Order::newest_first, 2000);
  std::cout << fmt::format("over 500 gaps {} rows, {} steps; over 2,000 gaps {} rows, {} steps\n",
                           few.rows, few.steps, many.rows, many.steps);

  for (const Cost& cost : {many, backwards}) {
    EXPECT_LE(cost.rows, 2 * 2000U + 8);
    EXPECT_LE(cost.steps, 4 * few.steps + few.steps / 20);
  }
}

// A place is found among the versions by halving: doubling their number costs one more look.
TEST_F(HistoryCost, AForkAndABranchAddUpFromTheLastCheckpoint) {
  const Lease small = counted.open_session("small");
  const Lease large = counted.open_session("large");
  counted.take_turns(small, 50, Sync::later);
  counted.take_turns(large, 5000, Sync::later);
  int forks = 0;
  const auto cost_of_fork = [&](const Lease& lease, Point at) {
    const auto cost = steps_of([&] { fork(lease.session, fmt::format("fork {}", ++forks), at); });
    const auto made = must(SessionId::parse(fmt::format("fork {}", forks)));
    const SessionSummary session = must(counted.store().sessions().read(made));
    EXPECT_EQ(session.tally.tokens_in, static_cast<std::int64_t>(session.head) * 10);
    return cost;
  };
  const auto cost_of_branch = [&](const Lease& lease, Point at) {
    Batch batch = counted.next_turn(lease.session);
    batch.branch_from = at;
    return steps_of([&] { must(counted.store().commit(lease, batch)); });
  };
  constexpr std::uint64_t halvings = 7;  // From 50 to 5,000.
  constexpr std::uint64_t steps_of_one = 40;
  const auto bound = [](std::uint64_t cost) { return cost + cost / 20 + halvings * steps_of_one; };
  const auto at_50 = cost_of_fork(small, Point::version(50));
  const auto at_5000 = cost_of_fork(large, Point::version(5000));
  std::cout << fmt::format("a fork at turn 50 takes {} steps, at turn 5,000 {}\n", at_50, at_5000);

  EXPECT_LE(at_5000, bound(at_50));
  for (const Version version : {1U, 50U, 2500U, 4999U}) {
    EXPECT_LE(cost_of_fork(large, Point::version(version)), bound(at_50)) << version;
  }
  EXPECT_LE(cost_of_fork(large, Point::position(12'503)),
            bound(cost_of_fork(small, Point::position(53))));
  EXPECT_LE(cost_of_branch(large, Point::version(51)),
            bound(cost_of_branch(small, Point::version(49))));
}

}  // namespace
}  // namespace perdure
