// Two agents on one session, each a process. The second is told who has it; once the first is
// stopped past its lease, the second takes over. The first, when it goes on, writes nothing, and
// acts on nothing that its model said.

#include <cstdint>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "agent/trial.hpp"
#include "contract/backends.hpp"
#include "crash/child_process.hpp"
#include "doubles/must.hpp"
#include "perdure/core/id.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/store.hpp"

namespace perdure::agents {
namespace {

using testing::StartsWith;

struct Written {
  std::vector<Entry> log{};
  std::vector<Call> calls{};
  bool operator==(const Written&) const = default;
};

class TwoAgents : public testing::TestWithParam<Backend> {
 protected:
  [[nodiscard]] static Written written(const Trial& trial) {
    const auto store = must(open_store(trial.location()));
    const auto id = SessionId::parse("the-session").value();
    return {.log = must(store->log().read(id, {})),
            .calls = must(store->ledger().list({.session = id}))};
  }

  /// Null: it came to its end before.
  [[nodiscard]] static std::unique_ptr<ChildProcess> stopped_at(Trial& trial, std::uint64_t step) {
    auto first = trial.start({fmt::format("step={}", step), "signal=stop"});
    return first->wait_until_stopped() ? std::move(first) : nullptr;
  }

  static std::string last_words(Trial& trial, ChildProcess& agent, bool is_heard) {
    std::string last;
    for (const std::string& line : agent.read_to_end()) {
      if (is_heard) trial.hear(line);
      last = line;
    }
    return last;
  }

  static void expect_sound(Trial& trial, std::uint64_t step) {
    trial.finish();
    trial.judge();
    for (const std::string& complaint : trial.complaints()) {
      ADD_FAILURE() << "stopped at step " << step << ": " << complaint;
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Surviving, TwoAgents, testing::ValuesIn(surviving_backends()),
                         [](const auto& named) { return named.param.name; });

TEST_P(TwoAgents, TheSecondIsToldWhoHasTheSession) {
  Trial trial(GetParam());
  const auto first = stopped_at(trial, 3);
  ASSERT_NE(first, nullptr);
  const Written before = written(trial);

  const auto second = trial.start({});
  const auto words = second->read_to_end();

  ASSERT_EQ(words.size(), 1U);
  EXPECT_THAT(words[0], StartsWith("failed lease_held: session the-session is held by worker"));
  EXPECT_THAT(words[0], testing::HasSubstr(fmt::format("process {}", first->pid())));
  EXPECT_EQ(written(trial), before);
  first->go_on();
  EXPECT_THAT(last_words(trial, *first, false),
              testing::AnyOf(StartsWith("failed lease_lost"), StartsWith("done")));
  expect_sound(trial, 3);
}

TEST_P(TwoAgents, TheSecondWaitsForAnOwnerThatDies) {
  Trial trial(GetParam());
  const auto first = stopped_at(trial, 12);
  ASSERT_NE(first, nullptr);
  const auto second = trial.start({"wait=3600000"});
  first->kill();
  EXPECT_THAT(last_words(trial, *second, true), StartsWith("done"));
  expect_sound(trial, 12);
}

TEST_P(TwoAgents, StoppedAnywhereTheFirstWritesNothingAndActsOnNoResponse) {
  const std::uint64_t stride = GetParam().home == Home::schema ? 11 : 2;
  int stops = 0;
  for (std::uint64_t step = 2;; step += stride) {
    Trial trial(GetParam());
    const auto first = stopped_at(trial, step);
    if (first == nullptr) break;
    ++stops;
    const auto second = trial.start({"ahead=31000"});
    last_words(trial, *second, true);
    const Written before = written(trial);

    first->go_on();
    const std::string last = last_words(trial, *first, false);

    EXPECT_THAT(last, testing::AnyOf(StartsWith("failed lease_lost"), StartsWith("done")))
        << "stopped at step " << step;
    EXPECT_EQ(written(trial), before) << "stopped at step " << step;
    expect_sound(trial, step);
    if (HasFailure()) break;
  }
  EXPECT_GT(stops, GetParam().home == Home::schema ? 5 : 30);
  std::cout << fmt::format("two agents {}: {} stops\n", GetParam().name, stops);
}

}  // namespace
}  // namespace perdure::agents
