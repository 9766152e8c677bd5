// Turns of a session, with what they cost: a counted store, a runtime on it, and tools that do
// nothing: `look` and `look_once` read, `pay`, `pay_once` and `lose` do not, and of `lose` nobody knows
// what became. `_once`: once in a session.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "counted/counted_store.hpp"
#include "doubles/fake_clock.hpp"
#include "doubles/must.hpp"
#include "doubles/step_counter.hpp"
#include "perdure/core/id.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"

namespace perdure {

/// The tools that one response asks for, in order.
using Calls = std::vector<std::string>;

class CountedTurns {
 public:
  explicit CountedTurns(Policy policy = {});

  /// A turn: one response for each, with its calls, and one that ends it.
  void take_turn(const std::vector<Calls>& responses);
  /// Up to the calls of one response, which are not run.
  void ask_for(const Calls& calls);
  void end_turn();

  /// Another process takes the session up.
  RecoveryReport resume();
  /// Goes on with a new session.
  void begin_another();

  template <class Work>
  std::uint64_t syncs_of(const Work& work) {
    const auto before = counted.syncs();
    work();
    return counted.syncs() - before;
  }
  template <class Work>
  std::uint64_t rows_of(const Work& work) {
    const auto before = counted.counters().rows_read;
    work();
    return counted.counters().rows_read - before;
  }
  template <class Work>
  std::uint64_t steps_of(const Work& work) {
    const auto before = steps.steps();
    work();
    return steps.steps() - before;
  }

  SqliteStepCounter steps;
  FakeClock clock;
  CountedStore counted{Durability::full, clock};
  std::unique_ptr<Runtime> runtime;
  std::optional<Session> session;

 private:
  [[nodiscard]] Message response_with(const Calls& calls);

  std::uint64_t asked_ = 0;
};

}  // namespace perdure
