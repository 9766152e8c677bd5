// What upkeep and forks cost does not grow with what they do not touch: other forks,
// the history before a checkpoint, gaps that were read already. Rows are counted as SQLite
// walks them (step_counter.hpp), not only as it hands them out.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <iostream>

#include "counted/counted_store.hpp"
#include "doubles/step_counter.hpp"

namespace perdure {
namespace {

template <class T>
T must(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

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

  StepCounter steps;
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
        must(counted.store().retention().prune(lease.session, {.last = 0}, [&](const Step&) {
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

}  // namespace
}  // namespace perdure
